// SPDX-License-Identifier: Apache-2.0
//! Macros of other libraries that a program may have defined when it includes the library.
//! scripts/lint/foreign_macros.pl reads this list, and tests/compile_fail/headers.cpp compiles the headers with it.
//! Names that we cannot use are left out: names in capitals, and names with a prefix such as Py_ and Q_.
#ifndef SPECVERIFY_TESTS_SUPPORT_FOREIGN_MACROS_HPP
#define SPECVERIFY_TESTS_SUPPORT_FOREIGN_MACROS_HPP

// Qt: qobjectdefs.h, qforeach.h
#define emit
#define slots
#define signals public
#define foreach(variable, container) for (variable : container)
#define forever for (;;)

// Unreal: AssertionMacros.h
#define check(expression) SPECVERIFY_FOREIGN(expression)
#define checkCode(code) SPECVERIFY_FOREIGN(code)
#define checkf(expression, format, ...) SPECVERIFY_FOREIGN(expression)
#define checkSlow(expression) SPECVERIFY_FOREIGN(expression)
#define checkNoEntry() SPECVERIFY_FOREIGN()
#define checkNoReentry() SPECVERIFY_FOREIGN()
#define checkNoRecursion() SPECVERIFY_FOREIGN()
#define ensure(expression) SPECVERIFY_FOREIGN(expression)
#define ensureAlways(expression) SPECVERIFY_FOREIGN(expression)
#define ensureMsgf(expression, format, ...) SPECVERIFY_FOREIGN(expression)
#define unimplemented() SPECVERIFY_FOREIGN()
#define verify(expression) SPECVERIFY_FOREIGN(expression)
#define verifyf(expression, format, ...) SPECVERIFY_FOREIGN(expression)
#define verifySlow(expression) SPECVERIFY_FOREIGN(expression)

// Windows: minwindef.h, rpcndr.h, combaseapi.h, inaddr.h, dlgs.h
#define near
#define far
#define small char
#define hyper __int64
#define interface struct
#define pascal __stdcall
#define cdecl __cdecl
#define environ (*_environ())
#define h_addr h_addr_list[0]
#define s_addr S_un.S_addr
#define s_host S_un.S_un_b.s_b2
#define s_net S_un.S_un_b.s_b1
#define min(a, b) (((a) < (b)) ? (a) : (b))
#define max(a, b) (((a) > (b)) ? (a) : (b))
#define rad1 0x0420
#define lst1 0x0460
#define edt1 0x0480
#define grp1 0x0430
#define frm1 0x0434
#define rct1 0x0438
#define ico1 0x043c
#define scr1 0x0490
#define ctl1 0x04A0

// macOS: AssertMacros.h (check and verify as above), Objective-C
#define check_noerr(code) SPECVERIFY_FOREIGN(code)
#define check_string(expression, text) SPECVERIFY_FOREIGN(expression)
#define debug_string(text) SPECVERIFY_FOREIGN(text)
#define ncheck(expression) SPECVERIFY_FOREIGN(expression)
#define nrequire(expression, label) SPECVERIFY_FOREIGN(expression)
#define nverify(expression) SPECVERIFY_FOREIGN(expression)
#define require(expression, label) SPECVERIFY_FOREIGN(expression)
#define require_action(expression, label, action) SPECVERIFY_FOREIGN(expression)
#define require_noerr(code, label) SPECVERIFY_FOREIGN(code)
#define require_quiet(expression, label) SPECVERIFY_FOREIGN(expression)
#define require_string(expression, label, text) SPECVERIFY_FOREIGN(expression)
#define verify_action(expression, action) SPECVERIFY_FOREIGN(expression)
#define verify_noerr(code) SPECVERIFY_FOREIGN(code)
#define nil nullptr

// Unix: sys/param.h, sys/sysmacros.h, complex.h, and what gnu++20 defines
#define howmany(x, y) (((x) + ((y)-1)) / (y))
#define roundup(x, y) ((((x) + ((y)-1)) / (y)) * (y))
#define powerof2(x) ((((x)-1) & (x)) == 0)
#define setbit(a, i) SPECVERIFY_FOREIGN(a)
#define clrbit(a, i) SPECVERIFY_FOREIGN(a)
#define isset(a, i) SPECVERIFY_FOREIGN(a)
#define isclr(a, i) SPECVERIFY_FOREIGN(a)
#undef major
#undef minor
#undef makedev
#define major(device) gnu_dev_major(device)
#define minor(device) gnu_dev_minor(device)
#define makedev(major, minor) gnu_dev_makedev(major, minor)
#define index(text, letter) strchr((text), (letter))
#define rindex(text, letter) strrchr((text), (letter))
#define complex _Complex
#define I _Complex_I
#undef linux
#undef unix
#define linux 1
#define unix 1
#define i386 1

// X11: X.h, Xlib.h (min and max as above)
#define Bool int
#define Status int
#define True 1
#define False 0
#define None 0L
#define Success 0
#define Always 2
#define Above 0
#define Below 1
#define Opposite 4
#define Complex 0
#define Convex 2
#define Unsorted 0
#define Expose 12

// ncurses: curses.h without the macros that C++ does not get, term.h
#define addch(character) waddch(stdscr, (character))
#define addstr(text) waddnstr(stdscr, (text), -1)
#define attroff(attributes) wattroff(stdscr, (attributes))
#define attron(attributes) wattron(stdscr, (attributes))
#define attrset(attributes) wattrset(stdscr, (attributes))
#define bkgd(character) wbkgd(stdscr, (character))
#define border(l, r, t, b, tl, tr, bl, br) wborder(stdscr, l, r, t, b, tl, tr, bl, br)
#define delch() wdelch(stdscr)
#define deleteln() winsdelln(stdscr, -1)
#define echochar(character) wechochar(stdscr, (character))
#define getch() wgetch(stdscr)
#define getstr(text) wgetstr(stdscr, (text))
#define hline(character, count) whline(stdscr, (character), (count))
#define inch() winch(stdscr)
#define insch(character) winsch(stdscr, (character))
#define insertln() winsdelln(stdscr, 1)
#define instr(text) winstr(stdscr, (text))
#define scrl(count) wscrl(stdscr, (count))
#define scroll(window) wscrl((window), 1)
#define standend() wstandend(stdscr)
#define standout() wstandout(stdscr)
#define timeout(delay) wtimeout(stdscr, (delay))
#define vline(character, count) wvline(stdscr, (character), (count))
#define columns CUR Numbers[0]
#define lines CUR Numbers[2]
#define bell CUR Strings[1]

// Arduino: Arduino.h, binary.h (min and max as above)
#define abs(x) ((x) > 0 ? (x) : -(x))
#define bit(b) (1UL << (b))
#define bitClear(value, bit) ((value) &= ~(1UL << (bit)))
#define bitRead(value, bit) (((value) >> (bit)) & 0x01)
#define bitSet(value, bit) ((value) |= (1UL << (bit)))
#define bitToggle(value, bit) ((value) ^= (1UL << (bit)))
#define bitWrite(value, bit, bitvalue) ((bitvalue) ? bitSet(value, bit) : bitClear(value, bit))
#define constrain(amount, low, high) ((amount) < (low) ? (low) : ((amount) > (high) ? (high) : (amount)))
#define degrees(rad) ((rad)*RAD_TO_DEG)
#define radians(deg) ((deg)*DEG_TO_RAD)
#define round(x) ((x) >= 0 ? (long)((x) + 0.5) : (long)((x)-0.5))
#define sq(x) ((x) * (x))
#define highByte(w) ((unsigned char)((w) >> 8))
#define lowByte(w) ((unsigned char)((w)&0xff))
#define word(...) makeWord(__VA_ARGS__)
#define interrupts() sei()
#define noInterrupts() cli()
#define F(text) (reinterpret_cast<const __FlashStringHelper*>(PSTR(text)))
#define B0 0
#define B1 1

// Python: pyport.h on macOS, structmember.h
#define isalnum(c) iswalnum(btowc(c))
#define isalpha(c) iswalpha(btowc(c))
#define islower(c) iswlower(btowc(c))
#define isspace(c) iswspace(btowc(c))
#define isupper(c) iswupper(btowc(c))
#define tolower(c) towlower(btowc(c))
#define toupper(c) towupper(btowc(c))

#endif

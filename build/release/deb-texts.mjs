/** The texts that describe a Debian package. */

const MAINTAINER = 'The Countersign authors <maintainers@countersign.invalid>'

/**
 * What the executable is linked with, as `dpkg-shlibdeps` finds it, and what the scripts call.
 * @see ../../test/packages/debian.ts, which compares them
 */
const DEPENDS = [
  'libc6 (>= 2.28)',
  'libgcc-s1 (>= 3.4)',
  'libstdc++6 (>= 5.2)',
  'init-system-helpers (>= 1.54~)',
  'passwd',
  'systemd | systemd-standalone-sysusers | systemd-sysusers',
]

/** Returns `DEBIAN/control`. */
export const controlOf = ({ version, architecture, kib }) => `Package: countersignd
Version: ${version}
Architecture: ${architecture}
Maintainer: ${MAINTAINER}
Installed-Size: ${kib}
Depends: ${DEPENDS.join(', ')}
Section: net
Priority: optional
Description: three spoken words that prove who is on the line
 countersignd stores the private keys of one account on a machine. With them it
 checks and makes words that prove who is on a call, and signs files with stamps
 that anyone can verify. People use it on the command line and in a browser,
 programs over HTTP on loopback.
 .
 The package has the service of the whole machine, the account server for many
 daemons (countersignd server), the manual and completions for shells.
`

const DAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat']
const MONTHS = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ')

/** Returns a time in the form of RFC 5322. */
function dateOf(time) {
  const date = new Date(time * 1000)
  const [, , day, clock] = /^(\d+)-(.+)T(.+)\./.exec(date.toISOString()) ?? []
  return `${DAYS[date.getUTCDay()]}, ${String(date.getUTCDate()).padStart(2, '0')} ${MONTHS[date.getUTCMonth()]} ${date.getUTCFullYear()} ${clock ?? day} +0000`
}

/** Returns the changelog of the package, which refers to the changelog of the program. */
export const changelogOf = ({
  version,
  debianVersion,
  time,
}) => `countersignd (${debianVersion}) stable; urgency=medium

  * Version ${version}. Its changes are in changelog.gz.

 -- ${MAINTAINER}  ${dateOf(time)}
`

const indented = (text) =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => (line.trim() === '' ? ' .' : ` ${line}`))
    .join('\n')

/**
 * Returns the copyright file (DEP-5).
 * @param own the licence of the program
 * @param licences the licences of its parts, with a heading for each: `name version (licence)`
 */
export function copyrightOf(own, licences) {
  const parts = [...licences.matchAll(/^={80}\n(\S+ \S+ \(.*\))\n={80}$/gm)].map(([, part]) => part)
  const [, copyright, ...terms] = own.split('\n\n')
  return `Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: Countersign
Comment:
 The executable contains Node.js and the libraries below. Their copyright notices
 and licences are in /usr/share/doc/countersignd/LICENSES.txt.gz.
 .
${parts.map((part) => ` ${part}`).join('\n')}

Files: *
Copyright: ${copyright.replace(/^Copyright \(c\) /, '')}
License: Expat

License: Expat
${indented(terms.join('\n\n'))}
`
}

/**
 * Puts the Node from the packages first on the path of npm scripts. npm does so by itself, except
 * that npm 10 loses the link when it omits the packages of other platforms, which use the same
 * name.
 */
import { existsSync, rmSync, symlinkSync } from 'node:fs'

const target = `../node-${process.platform}-${process.arch}/bin/node`
const link = 'node_modules/.bin/node'

if (process.platform !== 'win32' && existsSync(`node_modules/.bin/${target}`)) {
  rmSync(link, { force: true })
  symlinkSync(target, link)
}

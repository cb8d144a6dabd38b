/** Returns what real shells offer for a line with the cursor at its end. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Ended, exec } from '../e2e/program.ts'

/**
 * Returns all that a shell offers for each line, sorted.
 *
 * `bin` is a folder with the program that the script may run.
 */
export type Shell = (
  script: string,
  lines: readonly string[],
  cwd: string,
  bin: string,
) => Promise<string[][]>

/** Separates the offers for one line from those for the next. */
const NEXT = '%%'

const parts = (text: string): string[][] =>
  text
    .split(`${NEXT}\n`)
    .slice(0, -1)
    .map((part) => [...new Set(part.split('\n').filter(Boolean))].toSorted())

/**
 * Runs a shell program over the script and the lines; any output on standard error is a failure.
 */
async function complete(
  command: string,
  args: readonly string[],
  program: string,
  script: string,
  lines: readonly string[],
  cwd: string,
  bin: string,
): Promise<string[][]> {
  const dir = mkdtempSync(join(tmpdir(), 'countersign-completion-'))
  try {
    const file = (name: string, text: string) => {
      writeFileSync(join(dir, name), text)
      return join(dir, name)
    }
    const paths = [file('script', script), join(dir, 'offered'), ...lines]
    const env = {
      PATH: `${bin}:${process.env['PATH']}`,
      HOME: dir,
      TERM: 'xterm',
      LC_ALL: 'C.UTF-8',
    }
    const run = [
      ...args,
      file('program', `cd ${JSON.stringify(cwd)} || exit\n${program}`),
      ...paths,
    ]
    const ended: Ended = await exec(command, run, { env })
    if (ended.code !== 0 || ended.stderr !== '') throw new Error(JSON.stringify(ended))
    return parts(readFileSync(join(dir, 'offered'), 'utf8'))
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

/** Splits a line into words as readline does: at spaces, and at `=`. */
export const bash: Shell = (script, lines, cwd, bin) =>
  complete(
    'bash',
    ['--norc', '--noprofile', '-u'],
    `
script=$1 offered=$2
shift 2
source "$script"
for line; do
  read -ra COMP_WORDS <<<"\${line//=/ = }"
  [[ $line == *[\\ =] ]] && COMP_WORDS+=('')
  COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)) COMPREPLY=()
  _countersignd
  printf '%s\\n' \${COMPREPLY[@]+"\${COMPREPLY[@]}"} ${NEXT} >>"$offered"
done
`,
    script,
    lines,
    cwd,
    bin,
  )

export const fish: Shell = (script, lines, cwd, bin) =>
  complete(
    'fish',
    ['--no-config'],
    `
set -l offered $argv[2]
source $argv[1]
for line in $argv[3..]
    complete -C $line | string replace -r '\\t.*' '' | string replace -r '^--[^=]*=' '' >> $offered
    echo ${NEXT} >> $offered
end
`,
    script,
    lines,
    cwd,
    bin,
  )

/**
 * Runs a zsh at a terminal of its own, types each line and a tabulator there, and records the
 * offers.
 */
export const zsh: Shell = (script, lines, cwd, bin) =>
  complete(
    'zsh',
    ['-f'],
    `
zmodload zsh/zpty
export SCRIPT=$1 OFFERED=$2
shift 2
cat > $HOME/setup <<'END'
PS1= LISTMAX=10000 KEYTIMEOUT=1
autoload -Uz compinit
compinit -D -u
source $SCRIPT
compadd() {
  local -a hits
  local flags="\${(j: :)@[1,(i)--]}"
  if [[ $flags != *-(O|A|D)\\ * ]]; then
    builtin compadd -A hits "$@"
    print -rl -- $hits >> $OFFERED
  fi
  builtin compadd "$@"
}
noted() {
  print -r -- ${NEXT} >> $OFFERED
  BUFFER=
  print -r -- NOT''ED
}
zle -N noted
bindkey '^I' complete-word
bindkey '^X' noted
print -r -- REA''DY
END
zpty z zsh -f -i
zpty -w z ". $HOME/setup"
zpty -r z said '*READY*'
for line; do
  zpty -w -n z "$line"$'\\t\\x18'
  zpty -r z said '*NOTED*'
done
zpty -d z
`,
    script,
    lines,
    cwd,
    bin,
  )

/** Completion for PowerShell. If the script returns nothing, PowerShell completes file names. */
import { type CompletionPoint, valuesIn, wordsOf } from './places.ts'

/**
 * Returns a text in single quotes for PowerShell.
 *
 * PowerShell accepts typographic single quotes as quotes too, so they are also doubled.
 */
const quoted = (text: string): string => `'${text.replaceAll(/['\u2018-\u201b]/g, '$&$&')}'`

const entry = (key: string, words: readonly string[]) =>
  `        ${quoted(key)} = @(${words.map(quoted).join(', ')})`

const table = (name: string, entries: readonly string[]) =>
  `    $${name} = @{\n${entries.join('\n')}\n    }`

/** Returns a script for the user's profile. */
export function powershellScript(places: readonly CompletionPoint[]): string {
  const values = valuesIn(places)
  const entries = values.map(({ path, name, value }) => entry(`${path} ${name}`, wordsOf(value)))
  return `# Completion of countersignd for PowerShell. For this shell: countersignd completion powershell | Out-String | Invoke-Expression

Register-ArgumentCompleter -Native -CommandName countersignd -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)
${table(
  'next',
  places.map((place) =>
    entry(
      place.path,
      place.next.map(({ word }) => word),
    ),
  ),
)}
${table(
  'arguments',
  places.filter(({ words }) => words.length > 0).map(({ path, words }) => entry(path, words)),
)}
${table(
  'options',
  places.map((place) =>
    entry(
      place.path,
      place.options.map(({ name }) => name),
    ),
  ),
)}
${table('values', entries)}
    $named = @(${places
      .filter(({ names }) => names)
      .map(({ path }) => quoted(path))
      .concat(
        values
          .filter(({ value }) => value === 'name')
          .map(({ path, name }) => quoted(`${path} ${name}`)),
      )
      .join(', ')})
    $before = @($commandAst.CommandElements |
        Where-Object { $_.Extent.EndOffset -lt $cursorPosition } |
        ForEach-Object { $_.Extent.Text })
    $place = ''
    foreach ($word in @($before | Select-Object -Skip 1)) {
        $step = "$place $word".TrimStart()
        if (-not $next.ContainsKey($step)) { break }
        $place = $step
    }
    $valued = "$place $($before | Select-Object -Last 1)"
    $words = if ($values.ContainsKey($valued)) { $values[$valued] }
        elseif ($wordToComplete.StartsWith('-')) { $options[$place] }
        elseif ($place -ceq "$($before | Select-Object -Skip 1)") { @($next[$place]) + @($arguments[$place]) }
        else { $arguments[$place] }
    $quote = [string][char]39
    $quotes = [char]39, [char]34
    $typed = $wordToComplete.Trim($quotes)
    $isValue = $values.ContainsKey($valued)
    if (($named -contains $valued) -or (($named -contains $place) -and -not $isValue -and -not $wordToComplete.StartsWith('-'))) {
        & countersignd complete-names -- @($before | Select-Object -Skip 1 | ForEach-Object { $_.Trim($quotes) }) 2>$null |
            Where-Object { $_.StartsWith($typed) } |
            ForEach-Object {
                $text = if ($_ -match '^[\\w.-]+$') { $_ } else { $quote + ($_ -replace '[\\x27\\u2018-\\u201b]', '$0$0') + $quote }
                [System.Management.Automation.CompletionResult]::new($text, $_, 'ParameterValue', $_)
            }
    }
    $words |
        Where-Object { $_ -and $_.StartsWith($wordToComplete) } |
        ForEach-Object { [System.Management.Automation.CompletionResult]::new($_, $_, 'ParameterValue', $_) }
}
`
}

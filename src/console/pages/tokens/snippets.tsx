/** Texts with which programs are connected: copied into their settings. */
import type { ComponentChildren } from 'preact'
import type { Schemas } from '../../data/api.ts'
import { filled, messages } from '../../text/text.tsx'
import { CommandText } from '../../ui/command.tsx'
import { Copyable } from '../../ui/copyable.tsx'

type Made = Pick<Schemas['MintedToken'], 'name' | 'token' | 'scope'>

/** Returns settings as JSON, with lists of one text in one line. */
const json = (value: object): string =>
  JSON.stringify(value, null, 2).replaceAll(/\[\s+("[^"]*")\s+\]/g, '[$1]')

const STDIO = json({ mcpServers: { countersign: { command: 'countersignd', args: ['mcp'] } } })

const mcpAddress = (): string => `${location.origin}/api/v1/mcp`

/** Returns the settings of a client that connects to an address. */
const httpSettings = (token: string): string =>
  json({
    mcpServers: {
      countersign: {
        type: 'http',
        url: mcpAddress(),
        headers: { Authorization: `Bearer ${token}` },
      },
    },
  })

/** Returns the settings of an editor that asks for the token. */
const promptSettings = (): string =>
  json({
    inputs: [
      { type: 'promptString', id: 'token', description: 'Countersign token', password: true },
    ],
    servers: {
      countersign: {
        type: 'http',
        url: mcpAddress(),
        headers: { Authorization: 'Bearer ${input:token}' },
      },
    },
  })

/** Returns a script that keeps the token in a file with the header field. */
const script = (token: string): string =>
  [
    `(umask 077; printf 'Authorization: Bearer %s\\n' ${token} > countersign-header)`,
    `curl -s -H @countersign-header ${location.origin}/api/v1/status`,
  ].join('\n')

const NEW_TOKEN = '"$(countersignd token create --name script --scope read)"'

const SnippetText = (of: {
  readonly title: string
  readonly text: string
  readonly children: ComponentChildren
}) => (
  <section class="snippet">
    <h3>{of.title}</h3>
    <p>{of.children}</p>
    <Copyable label={filled(messages().tokens.copySnippet, { name: of.title })} value={of.text}>
      <pre role="region" tabIndex={0} aria-label={of.title} translate={false}>
        <code>{of.text}</code>
      </pre>
    </Copyable>
  </section>
)

/** Shows how programs are connected; with a token that was just created, the texts contain it. */
export const SnippetList = ({ made }: { readonly made: Made | null }) => {
  const { tokens } = messages()
  const token = made?.token ?? null
  return (
    <>
      {made === null ? (
        <SnippetText title={tokens.stdio} text={STDIO}>
          {tokens.stdioText} <CommandText of="command -v countersignd" />
        </SnippetText>
      ) : (
        <p class="notice" data-kind="warn">
          {filled(tokens.withToken, { name: made.name })}
        </p>
      )}
      <SnippetText title={tokens.http} text={httpSettings(token ?? '${COUNTERSIGN_TOKEN}')}>
        {token === null ? tokens.httpText : null}
      </SnippetText>
      {token === null ? (
        <SnippetText title={tokens.httpPrompt} text={promptSettings()}>
          {tokens.httpPromptText}
        </SnippetText>
      ) : null}
      <SnippetText title={tokens.curl} text={script(token ?? NEW_TOKEN)}>
        {tokens.curlText}
      </SnippetText>
    </>
  )
}

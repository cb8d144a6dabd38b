/** The tokens of this daemon. */
import { allItems, api, dataOf, type Schemas } from '../../data/api.ts'
import { useResource } from '../../data/resource.ts'
import { sessionTokenId } from '../../session/session.ts'
import { filled, messages } from '../../text/text.tsx'
import { ConfirmedButton } from '../../ui/confirmed-button.tsx'
import { Loaded } from '../../ui/page.tsx'
import { Name } from '../../ui/person-name.tsx'
import { TableBox } from '../../ui/table-box.tsx'
import { When } from '../../ui/when.tsx'

type Token = Schemas['ApiToken']

const TokenName = ({ of }: { readonly of: Token }) => {
  const { tokens } = messages()
  return (
    <>
      <Name of={of.name} />{' '}
      {of.bound ? (
        <span class="badge">{of.id === sessionTokenId() ? tokens.thisWindow : tokens.console}</span>
      ) : null}
      {of.label === null ? null : (
        <div class="hint">
          <Name of={of.label} />
        </div>
      )}
    </>
  )
}

const RevokeButton = ({ of }: { readonly of: Token }) => {
  const { tokens } = messages()
  return (
    <ConfirmedButton
      kind="small"
      label={
        <>
          {tokens.revoke}
          <span class="unseen"> {filled(tokens.revokeNamed, { name: of.name })}</span>
        </>
      }
      title={filled(tokens.revokeTitle, { name: of.name })}
      confirm={tokens.revoke}
      work={() =>
        dataOf(api.DELETE('/api/v1/api-tokens/{id}', { params: { path: { id: of.id } } }))
      }
    >
      {of.bound ? tokens.revokeConsole : tokens.revokeText}
    </ConfirmedButton>
  )
}

const TokenTable = (of: { readonly label: string; readonly items: readonly Token[] }) => {
  const { tokens } = messages()
  return (
    <TableBox
      label={of.label}
      heading={[
        tokens.name,
        tokens.rights,
        tokens.lastUsed,
        tokens.ends,
        <span key="revoke" class="unseen">
          {tokens.revoke}
        </span>,
      ]}
    >
      {of.items.map((token) => (
        <tr key={token.id}>
          <td>
            <TokenName of={token} />
          </td>
          <td>{tokens[token.scope]}</td>
          <td>
            <When at={token.last_used_at} />
          </td>
          <td>
            {token.state !== 'active' ? (
              tokens[token.state]
            ) : token.expires_at === null ? (
              tokens.endsNever
            ) : (
              <When at={token.expires_at} />
            )}
          </td>
          <td class="row-actions">
            {token.state === 'active' && token.id !== sessionTokenId() ? (
              <RevokeButton of={token} />
            ) : null}
          </td>
        </tr>
      ))}
    </TableBox>
  )
}

/** Lists the tokens, those in use first. */
export const TokenList = () => {
  const { tokens } = messages()
  const list = useResource(
    'tokens',
    () => allItems((query) => dataOf(api.GET('/api/v1/api-tokens', { params: { query } }))),
    ['token.*'],
  )
  return (
    <section class="card">
      <h2>{tokens.active}</h2>
      <Loaded from={list}>
        {(all) => {
          const active = all.filter(({ state }) => state === 'active')
          const ended = all.filter(({ state }) => state !== 'active')
          return (
            <>
              {active.length === 0 ? (
                <p>{tokens.none}</p>
              ) : (
                <TokenTable label={tokens.active} items={active} />
              )}
              {ended.length === 0 ? null : (
                <details>
                  <summary>{filled(tokens.ended, { count: ended.length })}</summary>
                  <TokenTable label={filled(tokens.ended, { count: ended.length })} items={ended} />
                </details>
              )}
            </>
          )
        }}
      </Loaded>
    </section>
  )
}

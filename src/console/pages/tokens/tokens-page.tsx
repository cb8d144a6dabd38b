/** Tokens and apps: which programs may use the account, and what is sent to programs. */
import { hrefOf } from '../../shell/router.ts'
import { messages } from '../../text/text.tsx'
import { PageFrame } from '../../ui/page.tsx'
import { hasScope, RightsNotice } from '../../ui/rights-notice.tsx'
import { PageTabs } from '../../ui/page-tabs.tsx'
import { NewTokenForm } from './new-token.tsx'
import { SnippetList } from './snippets.tsx'
import { TokenList } from './token-list.tsx'
import { WebhookList } from './webhook-list.tsx'

const PARTS = ['tokens', 'connect', 'webhooks'] as const

/** The page. */
export default function TokensPage({ rest: [part] }: { readonly rest: readonly string[] }) {
  const { frame, tokens } = messages()
  const current = PARTS.find((one) => one === part) ?? 'tokens'
  return (
    <PageFrame title={frame.tokens}>
      <PageTabs
        label={tokens.parts}
        tabs={PARTS.map((one) => ({
          href: one === 'tokens' ? hrefOf('tokens') : hrefOf('tokens', one),
          text: tokens[one],
          isCurrent: one === current,
        }))}
      />
      {current === 'tokens' ? (
        <>
          <p class="lead">{tokens.lead}</p>
          <RightsNotice needs="full" />
          {hasScope('full') ? <TokenList /> : null}
          <NewTokenForm />
        </>
      ) : current === 'webhooks' ? (
        <WebhookList />
      ) : (
        <>
          <p class="lead">{tokens.connectLead}</p>
          <section class="card">
            <h2>{tokens.connect}</h2>
            <SnippetList made={null} />
            <p>
              <a href="/api/v1/docs">{tokens.apiDocs}</a>
            </p>
          </section>
        </>
      )}
    </PageFrame>
  )
}

/** Whether the audit log is complete: the state of its chain, in words. */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { useAction } from '../../data/action.ts'
import { api, dataOf, type Schemas } from '../../data/api.ts'
import { thisMinute } from '../../data/clock.ts'
import { filled, messages, timeShort } from '../../text/text.tsx'
import { Copyable } from '../../ui/copyable.tsx'
import { FailureNotice } from '../../ui/failure.tsx'
import { TextField } from '../../ui/fields.tsx'
import { ActionForm } from '../../ui/form.tsx'
import { NoticeBox } from '../../ui/notice.tsx'

type Chain = Schemas['AuditChain']

const HEAD = /^[0-9a-f]{64}$/

const ChainState = ({ of }: { readonly of: Chain }) => {
  const { log } = messages()
  const { fault, lines, before, cut, from, knows_head: knowsHead } = of
  if (fault !== null)
    return (
      <NoticeBox kind="bad">
        {filled(log.chainBroken, { row: fault.row, file: fault.file })} {log.chainBrokenNext}
      </NoticeBox>
    )
  return (
    <>
      <NoticeBox kind="ok">
        {filled(log.chainOk, {
          count: lines,
          time: from === null ? '' : timeShort(from, thisMinute.value),
        })}{' '}
        {before === 0 ? null : filled(log.chainBefore, { count: before })}{' '}
        {cut === 0 ? null : filled(log.chainCut, { count: cut })}
      </NoticeBox>
      {knowsHead === null ? null : (
        <NoticeBox kind={knowsHead ? 'ok' : 'bad'}>
          {knowsHead ? log.headKnown : log.headUnknown}
        </NoticeBox>
      )}
    </>
  )
}

/** Checks the log when it is shown, and again on request. */
export const AuditChainCard = () => {
  const { log } = messages()
  const chain = useSignal<Chain | null>(null)
  const head = useSignal('')
  const typed = head.value.trim().toLowerCase()
  const action = useAction(async () => {
    const query = HEAD.test(typed) ? { head: typed } : {}
    chain.value = await dataOf(api.GET('/api/v1/audit/chain', { params: { query } }))
  })
  useEffect(() => {
    void action.run()
  }, [])
  const known = chain.value
  return (
    <section class="card" aria-labelledby="audit-chain">
      <h2 id="audit-chain">{log.chain}</h2>
      {known === null ? (
        <>
          {action.isRunning.value ? <p role="status">{log.chainChecking}</p> : null}
          <FailureNotice of={action.failure} />
        </>
      ) : (
        <>
          <ChainState of={known} />
          <details>
            <summary>{log.head}</summary>
            <p>
              <Copyable label={log.head} value={known.head}>
                <code class="long" translate={false}>
                  {known.head}
                </code>
              </Copyable>
            </p>
            <p class="hint">{log.headHint}</p>
            <ActionForm
              action={action}
              submit={typed === '' ? log.checkAgain : log.checkHead}
              disabled={typed !== '' && !HEAD.test(typed)}
            >
              <TextField label={log.headField} value={head} maxLength={80} />
            </ActionForm>
          </details>
        </>
      )}
    </section>
  )
}

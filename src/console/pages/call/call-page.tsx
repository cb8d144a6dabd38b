/**
 * On a call. It leads the user: who speaks first, what to check, when to hang up. Own
 * words are shown to a caller only after the caller's words were right.
 */
import { useSignal, type Signal } from '@preact/signals'
import type { ComponentChild } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { api, dataOf, type Schemas } from '../../data/api.ts'
import { phoneOfCallee, useCallee, useHasPeople, type PersonToCall } from '../../data/own-words.ts'
import { useResource } from '../../data/resource.ts'
import type { PageProps } from '../../shell/page-props.ts'
import { goTo, hrefOf } from '../../shell/router.ts'
import { MessageText, messages } from '../../text/text.tsx'
import { CheckField } from '../../ui/fields.tsx'
import { Loaded, PageFrame } from '../../ui/page.tsx'
import { NoticeBox } from '../../ui/notice.tsx'
import { Name } from '../../ui/person-name.tsx'
import { CalleeList } from './callee-list.tsx'
import { CheckForm, VerdictBox } from './check-form.tsx'
import { OwnWords } from './own-words.tsx'
import { PublicCheck } from './public-check.tsx'
import { AskForPurpose, ConfirmPurpose } from './purpose.tsx'
import { nameOfMatch, type CallVerdict } from './verdict.ts'

type Match = Schemas['Match']

/**
 * The step after the words were right. `confirmed` and `refused`: the other person did or did not
 * confirm a purpose.
 */
type Step = 'talk' | 'ask' | 'confirmed' | 'refused' | 'confirm'

/** What the user can do after the words were right. */
const AfterProof = (of: {
  readonly speaker: Match
  readonly verdict: CallVerdict
  /** Shown until the user goes on. */
  readonly children?: ComponentChild
  readonly isAboutMoney: boolean
}) => {
  const { call } = messages()
  const connection = of.speaker.connection_id
  const step = useSignal<Step>('talk')
  const verdict = useSignal(of.verdict)
  const box = useRef<HTMLDivElement>(null)
  useEffect(() => {
    box.current?.focus()
  }, [])
  const name = nameOfMatch(of.speaker)
  return (
    <>
      <div ref={box} tabIndex={-1}>
        {/* A verdict about the person must not stand beside one about a purpose. */}
        <VerdictBox of={step.value === 'ask' || step.value === 'refused' ? null : verdict.value} />
      </div>
      {step.value === 'talk' ? of.children : null}
      {(step.value === 'ask' || step.value === 'refused') && connection !== undefined ? (
        <AskForPurpose
          connection={connection}
          onProven={(confirmed) => {
            verdict.value = confirmed
            step.value = 'confirmed'
            box.current?.focus()
          }}
          onRefused={() => {
            step.value = 'refused'
          }}
        />
      ) : null}
      {step.value === 'confirm' && connection !== undefined ? (
        <ConfirmPurpose connection={connection} listener={of.speaker.member_id} name={name} />
      ) : null}
      {connection === undefined && of.isAboutMoney ? (
        <NoticeBox kind="warn">
          <MessageText of={call.guestNoPurpose} values={{ name }} />
        </NoticeBox>
      ) : null}
      {connection === undefined ? null : <h2>{call.goOn}</h2>}
      <div class="answers">
        {connection === undefined || step.value === 'refused' ? null : (
          <>
            <button
              type="button"
              class={of.isAboutMoney && step.value === 'talk' ? 'main' : undefined}
              onClick={() => {
                step.value = 'ask'
              }}
            >
              {call.confirmToMe}
            </button>
            <button
              type="button"
              onClick={() => {
                step.value = 'confirm'
              }}
            >
              {call.confirmToThem}
            </button>
          </>
        )}
        <a class={step.value === 'refused' ? 'button main' : 'button'} href={hrefOf('call')}>
          {call.end}
        </a>
      </div>
    </>
  )
}

/** The id of the connection or guest code of a match, to which the own words belong. */
const subjectIn = ({ connection_id, guest_code_id }: Match): string =>
  connection_id ?? guest_code_id ?? ''

interface Proof {
  readonly speaker: Match
  readonly verdict: CallVerdict
}

/** The user is called. */
const Incoming = ({ isAboutMoney }: { readonly isAboutMoney: boolean }) => {
  const { call } = messages()
  const proof = useSignal<Proof | null>(null)
  if (proof.value === null)
    return (
      <>
        <p class="rule">{call.askCaller}</p>
        <CheckForm
          check={(words) => dataOf(api.POST('/api/v1/verify', { body: { words } }))}
          expected={null}
          onProven={(speaker, verdict) => {
            proof.value = { speaker, verdict }
          }}
        />
      </>
    )
  return (
    <AfterProof {...proof.value} isAboutMoney={isAboutMoney}>
      <OwnWords id={subjectIn(proof.value.speaker)} title={call.nowSay} />
      <p>{call.sayNowHint}</p>
    </AfterProof>
  )
}

const expectationFor = ({ id, kind }: PersonToCall) =>
  kind === 'guest' ? { guest_code_id: id } : { connection_id: id }

/** The user calls a person. */
const Outgoing = (of: { readonly callee: PersonToCall; readonly isAboutMoney: boolean }) => {
  const { call } = messages()
  const { callee } = of
  const name = <Name of={callee.name} />
  const phone = useResource(callee.id, () => phoneOfCallee(callee), []).data.value ?? null
  const proof = useSignal<Proof | null>(null)
  return (
    <>
      {proof.value === null ? (
        <>
          <p class="rule">
            {phone === null ? (
              <MessageText of={call.callNow} values={{ name }} />
            ) : (
              <MessageText of={call.callPhone} values={{ name, phone: <bdi>{phone}</bdi> }} />
            )}
          </p>
          <OwnWords id={callee.id} title={call.sayFirst} />
          <h2>{call.askTheirs}</h2>
          <CheckForm
            check={(words) =>
              dataOf(
                api.POST('/api/v1/verify', { body: { words, expect: expectationFor(callee) } }),
              )
            }
            expected={callee.name}
            onProven={(speaker, verdict) => {
              proof.value = { speaker, verdict }
            }}
          />
        </>
      ) : (
        <AfterProof {...proof.value} isAboutMoney={of.isAboutMoney}>
          <p class="rule">{call.talk}</p>
        </AfterProof>
      )}
    </>
  )
}

const OutgoingTo = ({
  id,
  isAboutMoney,
}: {
  readonly id: string
  readonly isAboutMoney: boolean
}) => {
  const { call } = messages()
  const found = useCallee(id)
  return (
    <Loaded from={found}>
      {(callee) =>
        callee === null ? (
          <p class="notice" data-kind="warn">
            {call.notCallable}
          </p>
        ) : (
          <Outgoing callee={callee} isAboutMoney={isAboutMoney} />
        )
      }
    </Loaded>
  )
}

/** The first step: who called. */
const Choice = ({ isAboutMoney }: { readonly isAboutMoney: Signal<boolean> }) => {
  const { call } = messages()
  const hasPeople = useHasPeople()
  const first = useRef<HTMLButtonElement>(null)
  useEffect(() => {
    first.current?.focus()
  }, [])
  return (
    <>
      <div class="choices">
        <button
          ref={first}
          type="button"
          onClick={() => {
            goTo('call', 'in')
          }}
        >
          <strong>{call.called}</strong>
          <span>{call.calledLead}</span>
        </button>
        <button
          type="button"
          onClick={() => {
            goTo('call', 'out')
          }}
        >
          <strong>{call.calling}</strong>
          <span>{call.callingLead}</span>
        </button>
      </div>
      {hasPeople.data.value === false ? (
        <NoticeBox kind="warn">
          {call.noOneYet} <a href={hrefOf('people', 'add')}>{call.addPerson}</a>
        </NoticeBox>
      ) : null}
      <CheckField label={call.money} hint={call.moneyLead} value={isAboutMoney} />
      <p>
        <a href={hrefOf('call', 'public')}>{call.public}</a>
      </p>
    </>
  )
}

/** The parts of the page. Any other segment is the id of the called person. */
const TITLES = [
  ['in', 'called'],
  ['out', 'calling'],
  ['public', 'public'],
] as const

export default function CallPage({ rest }: PageProps) {
  const { call, frame } = messages()
  const isAboutMoney = useSignal(false)
  const [step] = rest
  const back =
    step === undefined ? undefined : (
      <a class="button" href={hrefOf('call')}>
        {call.back}
      </a>
    )
  const part = TITLES.find(([name]) => name === step)
  const title = step === undefined ? frame.call : call[part?.[1] ?? 'calling']
  return (
    <PageFrame title={title} lead={step === undefined ? call.lead : undefined} actions={back}>
      {step === undefined ? <Choice isAboutMoney={isAboutMoney} /> : null}
      {step === 'in' ? <Incoming isAboutMoney={isAboutMoney.value} /> : null}
      {step === 'out' ? <CalleeList /> : null}
      {step === 'public' ? <PublicCheck /> : null}
      {step !== undefined && part === undefined ? (
        <OutgoingTo key={step} id={step} isAboutMoney={isAboutMoney.value} />
      ) : null}
    </PageFrame>
  )
}

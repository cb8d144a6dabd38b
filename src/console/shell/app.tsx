/** The frame of the console: navigation, the state of the connection, and the current page. */
import { computed, useSignal, useSignalEffect } from '@preact/signals'
import type { ComponentType } from 'preact'
import { thisMinute } from '../data/clock.ts'
import { awaySince } from '../data/live.ts'
import { ownProfile } from '../data/own-profile.ts'
import { useShared } from '../data/resource.ts'
import { lockSession, sessionFullUntil, sessionScope, sessionState } from '../session/session.ts'
import { messages, filled, timeShort } from '../text/text.tsx'
import { Name } from '../ui/person-name.tsx'
import { PageFrame } from '../ui/page.tsx'
import { SignedOut } from './signed-out.tsx'
import { needsCount } from './needs-count.ts'
import { PageBoundary } from './page-boundary.tsx'
import type { PageProps } from './page-props.ts'
import { PAGES } from './pages.ts'
import { currentPlace, hrefOf } from './router.ts'
import { daemonStatus } from '../data/status.ts'

const isoOf = (ms: number) => new Date(ms).toISOString()

/** The message that the daemon or the account server does not answer. */
const AwayNotice = () => {
  const { frame } = messages()
  const since = awaySince.value
  const server = daemonStatus.value?.backend_unreachable_since ?? null
  const words =
    since !== null
      ? filled(frame.daemonAway, { time: timeShort(isoOf(since), thisMinute.value) })
      : server !== null
        ? filled(frame.serverAway, { time: timeShort(server, thisMinute.value) })
        : null
  return (
    <div class="away" role="status">
      {words === null ? null : (
        <p class="notice" data-kind="warn">
          {words}
        </p>
      )}
    </div>
  )
}

/** The full rights of the session, and the button that ends the session. */
const SessionLine = () => {
  const { frame } = messages()
  const until = sessionFullUntil.value
  return (
    <p class="session">
      {sessionScope.value === 'full' && until !== null ? (
        <span class="badge" data-kind="warn">
          {filled(frame.full, { time: timeShort(until, thisMinute.value) })}
        </span>
      ) : null}
      <button type="button" class="small" onClick={() => void lockSession('locked')}>
        {frame.lock}
      </button>
    </p>
  )
}

const Navigation = ({ current }: { readonly current: string }) => {
  const { frame } = messages()
  const isOpen = useSignal(false)
  const count = needsCount.value
  const badge = count > 0 ? <span class="count">{count}</span> : null
  return (
    <nav aria-label={frame.pages}>
      <button
        type="button"
        class="menu"
        aria-expanded={isOpen.value}
        aria-controls="pages"
        onClick={() => {
          isOpen.value = !isOpen.value
        }}
      >
        {frame.menu}
        {badge}
      </button>
      <ul id="pages" data-open={isOpen.value}>
        {PAGES.map(({ name }) => (
          <li key={name}>
            <a
              href={hrefOf(name)}
              aria-current={name === current ? 'page' : undefined}
              onClick={() => {
                isOpen.value = false
              }}
            >
              {frame[name]}
              {name === 'needs' ? badge : null}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  )
}

const NotFound = () => {
  const { frame } = messages()
  return (
    <PageFrame title={frame.notFound} lead={frame.notFoundLead}>
      {null}
    </PageFrame>
  )
}

/** The name of the page in the address. */
const currentName = computed(() => currentPlace.value.page || PAGES[0].name)

/** The current page, which is loaded when it is first shown. */
const CurrentPage = () => {
  const { frame } = messages()
  const shown = useSignal<{ name: string; Component: ComponentType<PageProps> } | null>(null)
  const hasFailed = useSignal(false)
  const { rest } = currentPlace.value
  const name = currentName.value
  const entry = PAGES.find((one) => one.name === name)
  useSignalEffect(() => {
    const wanted = currentName.value
    const found = PAGES.find((one) => one.name === wanted)
    hasFailed.value = false
    found?.load().then(
      (module) => {
        // The user may have left the page before it was loaded.
        if (currentName.value === wanted) shown.value = { name: wanted, Component: module.default }
      },
      () => {
        if (currentName.value === wanted) hasFailed.value = true
      },
    )
  })
  if (entry === undefined) return <NotFound />
  if (hasFailed.value) return <p role="alert">{frame.pageFailed}</p>
  if (shown.value === null || shown.value.name !== name) return <p role="status">{frame.loading}</p>
  const { Component } = shown.value
  return (
    <PageBoundary key={name} place={rest.join('/')}>
      <Component rest={rest} />
    </PageBoundary>
  )
}

/** The name of the account. */
const AccountName = () => {
  const profile = useShared(ownProfile, ['session.*', 'sync.done'])
  const name = profile.data.value?.display_name
  return name === undefined ? null : (
    <span class="account">
      <Name of={name} />
    </span>
  )
}

/** The console. */
export const App = () => {
  if (sessionState.value !== 'open') return <SignedOut />
  const { frame } = messages()
  return (
    <>
      <a
        class="skip"
        href="#main"
        onClick={(event) => {
          event.preventDefault()
          document.querySelector<HTMLElement>('main')?.focus()
        }}
      >
        {frame.skip}
      </a>
      <header class="top">
        <svg viewBox="0 0 16 16" width="24" height="24" aria-hidden="true" class="mark">
          <rect width="16" height="16" rx="4" />
          <path d="M4 5h8M4 8h5M4 11h7" />
        </svg>
        <span class="brand-name">Countersign</span>
        <AccountName />
        <SessionLine />
      </header>
      <div class="columns">
        <Navigation current={currentName.value} />
        <main id="main" tabIndex={-1}>
          <AwayNotice />
          <CurrentPage />
        </main>
      </div>
    </>
  )
}

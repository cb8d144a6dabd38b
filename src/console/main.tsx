/** The entry point of the console. */
import { render } from 'preact'
import { followLiveEvents } from './data/live.ts'
import { followNeeds } from './data/needs.ts'
import { lockWhenIdle, sessionState, startSession } from './session/session.ts'
import { App } from './shell/app.tsx'
import { followDesktopNotices } from './shell/desktop-notices.ts'
import { followStatus } from './data/status.ts'
import { loadLanguage } from './text/text.tsx'
import { keepFocusInPage } from './ui/focus.ts'

const root = document.getElementById('app')!
await Promise.all([startSession(), loadLanguage()])
root.replaceChildren()
render(<App />, root)
keepFocusInPage(root)
if (sessionState.value === 'open') {
  lockWhenIdle()
  followStatus()
  followNeeds()
  followDesktopNotices()
  void followLiveEvents()
}

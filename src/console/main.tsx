/** The entry point of the console. */
import { render } from 'preact'
import { followLiveEvents } from './data/live.ts'
import { lockWhenIdle, sessionState, startSession } from './session/session.ts'
import { App } from './shell/app.tsx'
import { followStatus } from './shell/status.ts'
import { loadLanguage } from './text/text.tsx'

const root = document.getElementById('app')!
await Promise.all([startSession(), loadLanguage()])
root.replaceChildren()
render(<App />, root)
if (sessionState.value === 'open') {
  lockWhenIdle()
  followStatus()
  void followLiveEvents()
}

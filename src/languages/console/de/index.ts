/** The messages of the console in German. */
import { consoleTranslation } from '../translation.ts'
import call from './call.ts'
import common from './common.ts'
import devices from './devices.ts'
import frame from './frame.ts'
import health from './health.ts'
import log from './log.ts'
import needs from './needs.ts'
import notifications from './notifications.ts'
import organisation from './organisation.ts'
import people from './people.ts'
import settings from './settings.ts'
import stamps from './stamps.ts'
import tokens from './tokens.ts'

export default consoleTranslation({
  common,
  frame,
  call,
  people,
  needs,
  notifications,
  devices,
  stamps,
  log,
  tokens,
  organisation,
  health,
  settings,
})

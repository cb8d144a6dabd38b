/** First contacts by four words on both engines. */
import { onBothEngines } from '../engines.ts'
import { firstContactsSuite } from './first-contacts.suite.ts'

onBothEngines(firstContactsSuite)

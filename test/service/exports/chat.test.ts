/** The assistant, the handbook and feedback, on both engines. */
import { chatSuite } from './chat.suite.ts'
import { onBothEngines } from '../engines.ts'
import { feedbackSuite } from '../feedback.suite.ts'

onBothEngines((name, engine) => {
  chatSuite(name, engine)
  feedbackSuite(name, engine)
})

/** The languages of letters on both engines. */
import { onBothEngines } from '../engines.ts'
import { letterLanguagesSuite } from './letter-languages.suite.ts'

onBothEngines(letterLanguagesSuite)

/**
 * The session in which this device last signed its own revocation, for as long as nobody knows what became of that: the account
 * server may have it, whatever was heard. Once its key log still shows the device, it has not.
 */
import type { State } from '../../state/state.ts'

const SIGNED = 'sign_out'

type Meta = Pick<State, 'meta'>

export const markSigned = ({ meta }: Meta, session: string): void => meta.set(SIGNED, session)

export const unmarkSigned = ({ meta }: Meta): void => meta.delete(SIGNED)

export const isMarked = ({ meta }: Meta, session: string): boolean => meta.get(SIGNED) === session

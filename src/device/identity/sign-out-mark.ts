/**
 * The session that last signed this device's own revocation, stored while the outcome is unknown.
 * The account server may have accepted the revocation even if its response was lost. It has not
 * if its key log still shows the device.
 */
import type { State } from '../../state/state.ts'

const SIGNED = 'sign_out'

type Meta = Pick<State, 'meta'>

export const markSigned = ({ meta }: Meta, session: string): void => meta.set(SIGNED, session)

export const unmarkSigned = ({ meta }: Meta): void => meta.delete(SIGNED)

export const isMarked = ({ meta }: Meta, session: string): boolean => meta.get(SIGNED) === session

/**
 * Encodes and decodes messages of D-Bus, as far as method calls with texts, numbers and lists of
 * texts need it. All messages are little-endian.
 *
 * @see https://dbus.freedesktop.org/doc/dbus-specification.html#message-protocol-marshaling
 */

/** The types of messages. */
export const MESSAGE = { call: 1, error: 3 } as const

/** The codes of header fields. */
const FIELD = { path: 1, interface: 2, member: 3, error: 4, replyTo: 5, destination: 6, body: 8 }

/** The first byte of a message with numbers that are little-endian. */
const LITTLE = 'l'
/** The fixed part of a header, with the length of the fields. */
const FIXED = 16
/** Longer messages are rejected: a service of notifications has no reason to send them. */
const LONGEST = 1 << 20

/** Appends an encoded value to the bytes of a message. */
export type Put = (bytes: number[]) => void

const align = (bytes: number[], to: number): void => {
  while (bytes.length % to !== 0) bytes.push(0)
}

const numberBytes = (value: number): number[] =>
  [0, 8, 16, 24].map((shift) => (value >>> shift) & 0xff)

/** A 32-bit number, with or without a sign. */
export const putNumber =
  (value: number): Put =>
  (bytes) => {
    align(bytes, 4)
    bytes.push(...numberBytes(value))
  }

/** A text, which must not contain U+0000, or the path of an object. */
export const putText =
  (value: string): Put =>
  (bytes) => {
    const encoded = Buffer.from(value)
    putNumber(encoded.length)(bytes)
    bytes.push(...encoded, 0)
  }

const signature =
  (value: string): Put =>
  (bytes) => {
    bytes.push(value.length, ...Buffer.from(value), 0)
  }

const variant =
  (type: string, value: Put): Put =>
  (bytes) => {
    signature(type)(bytes)
    value(bytes)
  }

/**
 * A list.
 * @param to the alignment of the items in bytes
 */
export const putList =
  (to: 1 | 4 | 8, items: readonly Put[]): Put =>
  (bytes) => {
    align(bytes, 4)
    const at = bytes.length
    bytes.push(0, 0, 0, 0)
    align(bytes, to)
    const start = bytes.length
    for (const item of items) item(bytes)
    bytes.splice(at, 4, ...numberBytes(bytes.length - start))
  }

const field =
  (code: number, type: string, value: Put): Put =>
  (bytes) => {
    align(bytes, 8)
    bytes.push(code)
    variant(type, value)(bytes)
  }

/** A call of a method. */
export interface MethodCall {
  readonly destination: string
  readonly path: string
  readonly interface: string
  readonly member: string
  /** The types of the arguments, and the arguments. */
  readonly signature?: string
  readonly args?: readonly Put[]
}

/**
 * Returns a call of a method as bytes.
 * @param serial a number that the reply repeats, from 1
 */
export function encodeCall(serial: number, call: MethodCall): Buffer {
  const body: number[] = []
  for (const arg of call.args ?? []) arg(body)
  const bytes: number[] = [...Buffer.from(LITTLE), MESSAGE.call, 0, 1]
  putNumber(body.length)(bytes)
  putNumber(serial)(bytes)
  const fields = [
    field(FIELD.path, 'o', putText(call.path)),
    field(FIELD.interface, 's', putText(call.interface)),
    field(FIELD.member, 's', putText(call.member)),
    field(FIELD.destination, 's', putText(call.destination)),
  ]
  if (call.signature !== undefined) fields.push(field(FIELD.body, 'g', signature(call.signature)))
  putList(8, fields)(bytes)
  align(bytes, 8)
  return Buffer.concat([Buffer.from(bytes), Buffer.from(body)])
}

/**
 * Reads values one after the other. Each method throws RangeError if the bytes end too early.
 */
export class Reader {
  private readonly bytes: Buffer
  private at: number

  constructor(bytes: Buffer, at = 0) {
    this.bytes = bytes
    this.at = at
  }

  get position(): number {
    return this.at
  }

  align(to: number): void {
    this.at = Math.ceil(this.at / to) * to
  }

  byte(): number {
    return this.bytes.readUInt8(this.at++)
  }

  number32(): number {
    this.align(4)
    const value = this.bytes.readUInt32LE(this.at)
    this.at += 4
    return value
  }

  text(): string {
    return this.take(this.number32())
  }

  signature(): string {
    return this.take(this.byte())
  }

  texts(): string[] {
    const end = this.number32() + this.at
    const found: string[] = []
    while (this.at < end) found.push(this.text())
    return found
  }

  /** Returns the text of this length in bytes. It is followed by a zero. */
  private take(length: number): string {
    const end = this.at + length
    if (end >= this.bytes.length) throw new RangeError('A message of D-Bus ends too early.')
    const found = this.bytes.toString('utf8', this.at, end)
    this.at = end + 1
    return found
  }
}

/** A message that arrived. */
export interface Received {
  readonly type: number
  /** The serial of the call that this answers; 0 if this is no answer. */
  readonly replyTo: number
  /** The name of the error; an empty text if this is none. */
  readonly error: string
  readonly body: Reader
}

/**
 * Returns the length of the message that begins here, in bytes; null if that is not known yet.
 * @throws RangeError if it is too long or not little-endian
 */
export function messageLength(bytes: Buffer): number | null {
  if (bytes.length < FIXED) return null
  if (bytes.toString('latin1', 0, 1) !== LITTLE)
    throw new RangeError('A message of D-Bus has another order of bytes.')
  const reader = new Reader(bytes, 4)
  const body = reader.number32()
  reader.number32()
  const header = FIXED + reader.number32()
  const length = Math.ceil(header / 8) * 8 + body
  if (length > LONGEST) throw new RangeError(`A message of D-Bus has ${length} bytes.`)
  return length
}

/**
 * Returns a whole message.
 * @throws RangeError if its lengths contradict each other
 */
export function decodeMessage(bytes: Buffer): Received {
  const reader = new Reader(bytes, FIXED - 4)
  const end = reader.number32() + FIXED
  let [replyTo, error] = [0, '']
  while (reader.position < end) {
    reader.align(8)
    const code = reader.byte()
    const type = reader.signature()
    const value =
      type === 'u' ? reader.number32() : type === 'g' ? reader.signature() : reader.text()
    if (code === FIELD.replyTo) replyTo = Number(value)
    if (code === FIELD.error) error = String(value)
  }
  // The body begins at a multiple of 8, so its alignment can be counted from its own start.
  const body = new Reader(bytes.subarray(Math.ceil(end / 8) * 8))
  return { type: bytes.readUInt8(1), replyTo, error, body }
}

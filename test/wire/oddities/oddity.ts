import { sse, type RawResponse } from '../wire.ts'

/** Responses that real servers have sent, and that a strict reading of their documentation does not expect. */

export interface Oddity {
  name: string
  provider: string
  response: RawResponse
  /** The answer of the run; absent where the next response is the answer. */
  output?: string
  /** Inputs of the calls. */
  calls?: object[]
  /** The response is no answer: it is asked for again. */
  isAskedAgain?: true
}

/** The text of all oddities: its characters have one to four bytes. */
export const text = 'Red – 🟥.'

/** Events one behind the other. */
export const joined = (...events: (object | string)[]): string => events.map((event) => sse(event).toString()).join('')

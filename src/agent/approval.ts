import type { JsonObject, JsonValue, ToolCall } from './messages.ts'

/**
 * `caller`: the caller of the run approves. `role`: another person with the permission approves. `client`: the client of
 * the run runs the tool and sends the output.
 */
export type Decider = NonNullable<ToolCall['approval']>

/** A tool call waiting for a decision. */
export interface PendingCall {
  callId: string
  /** The tool's configured name, which may differ from the name shown to the model. */
  tool: string
  /** The model's arguments, valid by the tool's schema. */
  input: JsonObject
  by: Decider
}

export type Decision =
  | {
      decision: 'approve'
      /** Replaces the model's arguments; fits the tool's schema. */
      input?: JsonObject
      /** Set once a process has started the call. After a crash the outcome of a started call is unknown. */
      isStarted: boolean
    }
  | { decision: 'reject'; reason?: string }
  | ClientAnswer

export type DecisionKind = Decision['decision']

/** The client's answer to a call of one of its own tools; times are epoch milliseconds. */
export type ClientAnswer = ({ decision: 'output'; output: JsonValue } | { decision: 'error'; error: string }) & {
  requestedAt: number
  decidedAt: number
}

/** The client's answer in a decision; undefined for an approval or a rejection. */
export function clientAnswerIn(decision: Decision | undefined): ClientAnswer | undefined {
  return decision?.decision === 'output' || decision?.decision === 'error' ? decision : undefined
}

/**
 * Thrown through the loop, and by an agent inside of a tool call, when everything that needs no decision is done and
 * `calls` still wait for a decision.
 */
export class Interrupted extends Error {
  readonly calls: readonly PendingCall[]

  constructor(calls: readonly PendingCall[]) {
    super('Calls wait for a decision.')
    this.name = 'Interrupted'
    this.calls = calls
  }
}

/** The model's tool result for a rejected call. */
export function rejectionText(reason: string | undefined): string {
  // The reason may lack a full stop, so the text behind it starts on a new line.
  return `The call was rejected by a person${reason ? `: ${reason}\n` : '. '}Do not ask for it again; go on without it, or say what is missing.`
}

/** Put in front of the result of a call whose arguments a person changed. */
export function changedInputText(input: JsonObject): string {
  const text = JSON.stringify(input)
  const inputText = text.length > maxShownInput ? `${text.slice(0, maxShownInput).toWellFormed()} [cut]` : text
  return `A person changed the arguments of this call to ${inputText}.\n`
}

const maxShownInput = 2000

import type { JsonObject, ToolCall } from './messages.ts'

/** Who may decide: the caller of the run, or somebody else whose role says so. */
export type Decider = NonNullable<ToolCall['approval']>

/** A call that waits until somebody has decided whether it is made. */
export interface PendingCall {
  /** The call's id. */
  callId: string
  /** The tool's own name. */
  tool: string
  /** As the model asked for it; it fits the tool's schema. */
  input: JsonObject
  by: Decider
}

export type Decision =
  | {
      decision: 'approve'
      /** In place of what the model asked for; it fits the tool's schema. */
      input?: JsonObject
      /** A process has started the call: after a crash its outcome is unknown. */
      isStarted: boolean
    }
  | { decision: 'reject'; reason?: string }

/** Thrown through a loop, and by an agent inside of a call: all has been done that needs no approval, these calls do. */
export class Interrupted extends Error {
  readonly calls: readonly PendingCall[]

  constructor(calls: readonly PendingCall[]) {
    super('Calls wait for approval.')
    this.name = 'Interrupted'
    this.calls = calls
  }
}

/** What the model is told of a call that somebody rejected. */
export function rejected(reason: string | undefined): string {
  // A person writes few full stops: what is ours stands on a line of its own.
  return `The call was rejected by a person${reason ? `: ${reason}\n` : '. '}Do not ask for it again; go on without it, or say what is missing.`
}

/** Stands before what the model is told of a call that was made otherwise than it asked. */
export function changed(input: JsonObject): string {
  const text = JSON.stringify(input)
  const shown = text.length > maxShownInput ? `${text.slice(0, maxShownInput).toWellFormed()} [cut]` : text
  return `A person changed the arguments of this call to ${shown}.\n`
}

const maxShownInput = 2000

import type { JsonObject, JsonValue, TaintSource, ToolCall } from './messages.ts'
import { isObject, fieldsOf } from '../json/shape.ts'

/**
 * `caller`: the caller of the run approves. `role`: another person with the permission approves. `client`: the client of
 * the run runs the tool and sends the output.
 */
export type Decider = NonNullable<ToolCall['approval']>

/** The decider of a waiting run. `budget`: no call, but a limit that a caller with the permission may raise. */
export type WaitsFor = Decider | 'budget'

/** A tool call waiting for a decision, or a budget that is used up. */
export interface PendingCall {
  callId: string
  /** The tool's configured name, which may differ from the name shown to the model. */
  tool: string
  /** The model's arguments, valid by the tool's schema. */
  input: JsonObject
  by: WaitsFor
  /** Present on a call held by containment: the origins of text of strangers. */
  sources?: readonly TaintSource[]
}

export type Decision =
  | {
      decision: 'approve'
      /** Replaces the model's arguments; fits the tool's schema. */
      input?: JsonObject
      /** Set once a process has started the call. After a crash the outcome of a started call is unknown. */
      isStarted: boolean
      /** Of the hashes of the call in the ledger; absent: not recorded. */
      salt?: string
    }
  | { decision: 'reject'; reason?: string }
  /** The limit of a budget is raised, or was whole again: the run goes on. */
  | { decision: 'extend' }
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

/** A question to the caller of a run, from a server during a call. */
export interface Question {
  /** Unique in the call. */
  name: string
  /** Shown to the caller, as the input of a waiting call. */
  input: JsonObject
}

/** The state of a call that waits for answers, stored with the run. `state` belongs to the tool. */
export interface Suspension {
  callId: string
  state: JsonValue
  /** Ids of the questions. */
  questionIds: string[]
  /** Set once the call has gone on with the answers: what a process did after that is unknown. */
  isOver?: true
}

/**
 * Thrown by a tool whose call cannot go on without answers of the caller. The run is interrupted, and the tool is executed again with
 * `ToolContext.resumed` after the answers, in any process.
 */
export class Suspended extends Error {
  readonly state: JsonValue
  readonly questions: readonly Question[]

  constructor(state: JsonValue, questions: readonly Question[]) {
    super('The call waits for answers.')
    this.name = 'Suspended'
    this.state = state
    this.questions = questions
  }
}

/** What a suspended call goes on with. */
export interface ResumedCall {
  state: JsonValue
  /** `approve` has the answer as `input`; `reject` declines the question. */
  answerTo(question: string): Decision | undefined
}

/** Ids of calls are UUIDs, so that ids of questions are recognised by the separator. */
const separator = ':'

export function toQuestionId(callId: string, name: string): string {
  return `${callId}${separator}${name}`
}

/** True for the id of a question of a server, false for the id of a tool call that waits for approval. */
export function isQuestionId(callId: string): boolean {
  return callId.includes(separator)
}

/** The id of the tool call that waits: of a question, the call in which the server asks. */
export function toCallId(id: string): string {
  return id.split(separator, 1)[0]!
}

/** The questions of a suspended call as calls that wait for the caller. */
export function toPendingQuestions(callId: string, tool: string, questions: readonly Question[]): PendingCall[] {
  return questions.map(({ name, input }) => ({ callId: toQuestionId(callId, name), tool, input, by: 'caller' }))
}

/** An answer with the default values of the schema for missing members. */
export function withDefaults(schema: JsonObject, answer: JsonObject): JsonObject {
  const properties = Object.entries(fieldsOf(schema['properties']))
  const defaults = properties.flatMap(([name, property]) =>
    isObject(property) && 'default' in property ? [[name, property['default']]] : [],
  )
  return { ...(Object.fromEntries(defaults) as JsonObject), ...answer }
}

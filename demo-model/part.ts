import type { JsonObject, ToolMessage } from '../src/agent/messages.ts'
import type { ToolOffer } from '../src/agent/model.ts'
import { findToolsName } from '../src/agent/tool-offer.ts'
import { describeResult } from './answers/answer.ts'
import type { Section } from './question.ts'
import { needsYes, toProfile, type Profile } from './tools.ts'

export interface Turn {
  question: string
  answer: string
}

/** The surroundings of a question. */
export interface Context {
  /** Earlier questions with the answers, oldest first. */
  turns: readonly Turn[]
  tools: readonly ToolOffer[]
  /** Memories about the person. */
  memories: readonly string[]
  /** Summary of turns before the window. */
  summary: string
  /** Texts beside the question, as files or messages. */
  texts: readonly Section[]
  /** Names of attached files that the request shows as an outline only. */
  outlined: readonly string[]
}

/** A part of a question with everything for its answer. */
export interface Part extends Context {
  text: string
  /** True if the part continues an earlier question. */
  isFollowUp: boolean
  /** Earlier questions that the part may continue, oldest first. */
  earlier: readonly string[]
  profiles: readonly Profile[]
}

/** A way to answer a part. The readings of all intents are tried from the highest score down, until an answer is sure. */
export interface Reading {
  score: number
  work(): Work
}

/** A kind of question. */
export interface Intent {
  name: string
  /** Questions of this kind. Tests ask each example. */
  examples: readonly string[]
  read(part: Part): Reading | readonly Reading[] | undefined
}

/** Scores: an order with a tool's name outweighs all shared words. */
export const scores = { order: 40, exact: 20, given: 12 } as const

/** The search for tools is used only for a tool that the question names, because fitting tools are on offer already. */
export function toPart(part: Omit<Part, 'profiles'>): Part {
  return { ...part, profiles: part.tools.filter(({ name }) => name !== findToolsName).map(toProfile) }
}

/**
 * Work on a part of a question: yields the needed calls in turn, is given the results, and returns the answer. The model keeps no
 * state, so each turn runs the work again from the start, with the results so far. Undefined: the work has no answer.
 */
export type Work = Generator<Call, Answer | undefined, ToolMessage>

export interface Call {
  tool: ToolOffer
  input: JsonObject
  /** Words of the question behind the call. */
  evidence?: readonly string[]
}

export interface Answer {
  text: string
  /** False for a question to the person, and for an answer that may miss the point: another reading is tried first. */
  isSure: boolean
  /** The single figure of the answer, for the next part of the question. */
  figure?: string | undefined
}

/** A call with its result. */
export interface CompletedCall {
  key: string
  input: JsonObject
  result: ToolMessage
}

/**
 * Runs work until the work needs the result of a call that reads, or ends. Adds the calls with results to `used`, and returns the calls
 * without results. Calls that change something are collected: the work goes on as if the results were empty, so that all such calls can
 * be proposed at once.
 */
export function replay(
  work: Work,
  done: readonly CompletedCall[],
  used: Set<CompletedCall>,
): { calls: Call[]; answer?: Answer | undefined } {
  const calls: Call[] = []
  let step = work.next()
  while (!step.done) {
    const { tool, input } = step.value
    const key = keyOf(tool.name, input)
    const completed = done.find((candidate) => candidate.key === key)
    if (completed) used.add(completed)
    else calls.push(step.value)
    if (!completed && !needsYes(tool)) return { calls }
    step = work.next(completed?.result ?? { role: 'tool', callId: '', name: tool.name, text: '', isError: false })
  }
  return { calls, answer: step.value }
}

export function keyOf(name: string, input: JsonObject): string {
  return `${name} ${JSON.stringify(input)}`
}

export function sure(text: string, figure?: string): Answer {
  return { text, isSure: true, figure }
}

export function unsure(text: string): Answer {
  return { text, isSure: false }
}

/** Work without calls. */
// oxlint-disable-next-line require-yield -- An answer that is known needs no call.
export function* said(text: string, isSure = true): Work {
  return { text, isSure }
}

/** Work of a single call. The result is described, errors included. */
export function* reported(call: Call, request: string): Work {
  return sure(describeResult(request, call.input, yield call))
}

/** Work of a single call that may be the wrong reading: after an error the next reading is tried. */
export function* tried(call: Call, request: string): Work {
  const result = yield call
  return { text: describeResult(request, call.input, result), isSure: !result.isError }
}

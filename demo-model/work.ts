import type { JsonObject, ToolMessage } from '../src/agent/messages.ts'
import type { ToolOffer } from '../src/agent/model.ts'
import { describeResult } from './answers/answer.ts'
import { needsYes } from './tools.ts'

/**
 * Work on a part of a question: yields the calls that it needs, one after another, is given their results, and returns the answer. The model
 * keeps no state, so each turn runs the work again from its start, with the results so far. Undefined: the work has no answer.
 */
export type Work = Generator<Call, Answer | undefined, ToolMessage>

export interface Call {
  tool: ToolOffer
  input: JsonObject
  /** Words of the question that led to the call. */
  evidence?: readonly string[]
}

export interface Answer {
  text: string
  /** False for a question to the person, and for an answer that may miss the point: another reading is tried first. */
  isSure: boolean
  /** The single figure of the answer, for a part of the question that continues with it. */
  figure?: string | undefined
}

/** A call of this run with its result. */
export interface CompletedCall {
  key: string
  input: JsonObject
  result: ToolMessage
}

/**
 * Runs work until it needs the result of a call that reads, or ends. Adds the calls with results to `used`, and returns those without.
 * Calls that change something are collected: the work goes on as if their results were empty, so that all can be proposed at once.
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

/** Work of a single call, whose result is described, also if it is an error. */
export function* reported(call: Call, request: string): Work {
  return sure(describeResult(request, call.input, yield call))
}

/** The same for a call that may be the wrong reading: after an error another reading is tried. */
export function* tried(call: Call, request: string): Work {
  const result = yield call
  return { text: describeResult(request, call.input, result), isSure: !result.isError }
}

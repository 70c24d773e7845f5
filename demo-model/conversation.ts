import type { Message } from '../src/agent/messages.ts'
import type { ModelRequest } from '../src/agent/model.ts'
import { isObject } from '../src/json/shape.ts'
import { parseJson } from './answers/answer.ts'
import { isProposal, readConsent } from './orders.ts'
import { keyOf, type CompletedCall, type Context, type Turn } from './part.ts'
import { isFollowUp, splitParts, toSections, type Section } from './question.ts'
import { smallTalk } from './talk.ts'

/** The parts of a request. */
export interface Conversation extends Context {
  /** The question of the person, or a step that another model has planned. */
  question: string
  /** True if the loop asks for a plan. */
  isPlanning: boolean
  /** Calls of this run with results. */
  done: readonly CompletedCall[]
  /** The answer with proposed calls to which the person now says yes. The conversation is the one before this answer. */
  confirmed: string
}

/** The embedded model creates no sub-agents: it answers itself, or uses an existing sub-agent. */
const ignored: ReadonlySet<string> = new Set(['create_sub_agent', 'end_sub_agent'])
/** The embedded model makes no plans: it handles all parts of a question in a single step. */
export const noPlan = '[]'
/** Longer messages are texts, not questions that a follow-up may refer to. */
const maxQuestion = 2_000
/** Number of earlier questions for a follow-up. */
const maxEarlier = 6

export function readConversation({ messages: all, tools }: ModelRequest): Conversation {
  const instruction = all.findLast((message) => message.role === 'user')?.instruction
  // Instructions of the loop give way to the question of the person, except a step of another model's plan.
  const spoken = all.filter((message) => {
    if (message.role === 'user') return instruction === 'step' || !message.instruction
    return !(message.role === 'assistant' && message.text === noPlan)
  })
  const now = spoken.findLastIndex(({ role }) => role === 'user')
  const confirmed = confirmedAt(spoken, now)
  const messages = confirmed === '' ? spoken : spoken.toSpliced(now - 1, 2)
  const last = Math.max(
    messages.findLastIndex(({ role }) => role === 'user'),
    0,
  )
  const start = messages.findLastIndex(({ role }, at) => at < last && role !== 'user') + 1
  const question = messages[last]?.role === 'user' ? messages[last] : undefined
  const files = messages.flatMap((message) => (message.role === 'user' ? (message.parts?.files ?? []) : []))
  const texts = messages.slice(start, last).flatMap((message) => toSections(textOf(message)))
  return {
    question: question ? textOf(question) : '',
    isPlanning: instruction === 'plan' || instruction === 'change' || instruction === 'adapt',
    tools: tools.filter(({ name }) => !ignored.has(name)),
    turns: toTurns(messages.slice(0, start)),
    done: completedCalls(messages.slice(last)),
    confirmed,
    memories: question?.parts?.memories ?? [],
    summary: question?.parts?.summary ?? '',
    texts: [...texts, ...files.filter(({ isWhole }) => isWhole).flatMap(({ name, text }) => toFileSections(name, text))],
    outlined: files.filter(({ isWhole }) => !isWhole).map(({ name }) => name),
  }
}

/** The answer to which the message at a position is a plain yes; empty if the message is anything else. */
function confirmedAt(messages: readonly Message[], at: number): string {
  const [answer, message] = [messages[at - 1], messages[at]]
  return message && answer?.role === 'assistant' && isProposal(answer.text) && readConsent(textOf(message)) ? answer.text : ''
}

/** The words of the person, without memories and attached files. */
function textOf(message: Message): string {
  return message.role === 'user' ? (message.parts?.question ?? message.text) : message.text
}

/** The sections of a file. A table becomes a section that describes it, and a section of rows. */
function toFileSections(file: string, text: string): Section[] {
  if (!/\.[ct]sv$/i.test(file)) return toSections(text).map((section) => ({ ...section, file }))
  const [columns = '', ...rows] = text.split(/\r?\n/).filter((line) => line.trim() !== '')
  const description = `A table of ${rows.length} rows with the columns ${columns.split(/[,;\t]/).join(', ')}.`
  return [
    { file, heading: file, text: description },
    { file, heading: columns, text: rows.join('\n\n'), isRows: true },
  ]
}

function toTurns(messages: readonly Message[]): Turn[] {
  const turns: Turn[] = []
  for (const message of messages) {
    if (message.role === 'user') turns.push({ question: textOf(message).slice(0, maxQuestion), answer: '' })
    else if (message.role === 'assistant' && message.text !== '' && turns.length > 0) turns.at(-1)!.answer = message.text
  }
  return turns
}

/** Earlier questions for a follow-up, oldest first, from the last complete question. */
export function earlierQuestions(turns: readonly Turn[]): string[] {
  const earlier: string[] = []
  for (const { question } of turns.toReversed()) {
    const parts = smallTalk(question) ? [] : splitParts(question)
    earlier.unshift(...parts)
    if (earlier.length >= maxEarlier || (parts[0] !== undefined && !isFollowUp(parts[0]))) break
  }
  return earlier
}

function completedCalls(run: readonly Message[]): CompletedCall[] {
  const results = new Map(run.flatMap((message) => (message.role === 'tool' ? [[message.callId, message] as const] : [])))
  const calls = run.flatMap((message) => (message.role === 'assistant' ? message.toolCalls : []))
  return calls.flatMap(({ id, name, arguments: text }) => {
    const result = results.get(id)
    const value = parseJson(text)
    const input = isObject(value) ? value : {}
    return result ? [{ key: keyOf(name, input), input, result }] : []
  })
}

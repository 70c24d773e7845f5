import type { ModelRequest, RequestedCall } from '../src/agent/model.ts'
import { findToolsName } from '../src/agent/tool-offer.ts'
import { describeResult } from './answers/answer.ts'
import { earlierQuestions, noPlan, readConversation, type Conversation } from './conversation.ts'
import { fillSchema } from './fill-schema.ts'
import { intents } from './intents.ts'
import { readNamedCall } from './named-call.ts'
import { proposalOf, propose } from './orders.ts'
import { keyOf, replay, sure, toPart, type Answer, type Call, type CompletedCall, type Part } from './part.ts'
import { isDependent, isFollowUp, readMessage, withoutProhibition } from './question.ts'
import { inabilityText, introduces, smallTalk, talkAnswer } from './talk.ts'
import { needsYes } from './tools.ts'

/** The next step of the model: tool calls or an answer. */
export interface NextStep {
  reasoning: string
  text: string
  calls: RequestedCall[]
}

/** Limit of calls in a run, so that every run ends. */
const maxCalls = 24

/** Decides from the request alone. An answer with a schema is filled from the results of the tools, or says that they do not suffice. */
export function respond(name: string, request: ModelRequest): NextStep {
  const { responseSchema, messages } = request
  const step = nextStep(name, request)
  if (!responseSchema || step.calls.length > 0) return step
  const question = messages.findLastIndex((message) => message.role === 'user' && !message.instruction)
  const value = fillSchema(responseSchema, messages.slice(question + 1), step.text)
  if (value !== undefined) return answerWith(JSON.stringify(value))
  return answerWith(`The embedded model ${name} cannot fill the schema of the answer from the results of its tools. ${step.text}`)
}

/** Results for the parts of a question so far. */
interface Progress {
  conversation: Conversation
  /** Calls without results, by key. */
  open: Map<string, Call>
  /** Calls with used results. */
  used: Set<CompletedCall>
  /** Changing calls, for the person to confirm. */
  proposed: Call[]
}

/** Answers every part of the question, as far as the calls that have results allow; otherwise makes the open calls of all parts. */
function nextStep(name: string, request: ModelRequest): NextStep {
  const conversation = readConversation(request)
  const { question, tools, done, turns, isPlanning } = conversation
  if (isPlanning) return answerWith(noPlan)
  const talk = done.length === 0 ? smallTalk(question) : undefined
  if (talk) return answerWith(talkAnswer(talk, name, tools))
  const progress: Progress = { conversation, open: new Map(), used: new Set(), proposed: [] }
  const answers = answerParts(progress)
  const open = [...progress.open.values()]
  if (open.length > 0 && done.length < maxCalls) {
    const calls = open.map(({ tool, input }) => ({ name: tool.name, arguments: JSON.stringify(input) }))
    return { text: '', reasoning: [...new Set(open.map(reasonFor))].join(' '), calls }
  }
  const isFirst = !turns.some(({ answer }) => introduces(answer))
  return answerWith(joinAnswers(answers, progress) || inabilityText(name, question, tools, isFirst))
}

interface PartAnswer {
  text: string
  answer: Answer | undefined
}

/** The answers of the parts, in order. A part that continues with a figure of the part before waits for it. */
function answerParts(progress: Progress): PartAnswer[] {
  const { conversation } = progress
  const { question, tools, turns } = conversation
  const isNamed = readNamedCall(question, tools) !== undefined
  const { parts, sections } = isNamed ? { parts: [question], sections: [] } : readMessage(withoutProhibition(question))
  const texts = [...sections, ...conversation.texts]
  let earlier = earlierQuestions(turns)
  const answers: PartAnswer[] = []
  for (const part of parts) {
    const before = answers.at(-1)
    const depends = before !== undefined && isDependent(part)
    const figure = before?.answer?.figure
    const text = depends ? part.replace(/\b(that|it|this|the (?:result|total|sum|answer))\b/i, figure ?? '') : part
    const follows = !depends && isFollowUp(part) && earlier.length > 0
    const isWaiting = depends && figure === undefined
    const answer = isWaiting ? undefined : answerPart(toPart({ ...conversation, text, isFollowUp: follows, earlier, texts }), progress)
    answers.push({ text: part, answer })
    if (!isWaiting) earlier = follows ? [...earlier, part] : [part]
  }
  return answers
}

/**
 * Tries the readings of a part from the best down. The first sure answer counts, otherwise the first of all. This is the only place where
 * calls are decided on: a call that changes something waits until nothing is left to read, and is made only if the person has said yes to it.
 */
function answerPart(part: Part, { conversation, open, used, proposed }: Progress): Answer | undefined {
  const readings = intents.flatMap((intent) => intent.read(part) ?? []).toSorted((a, b) => b.score - a.score)
  let fallback: Answer | undefined
  for (const { work } of readings) {
    const { calls, answer } = replay(work(), conversation.done, used)
    const reads = calls.filter(({ tool }) => !needsYes(tool))
    const isConfirmed = calls.every((call) => conversation.confirmed.includes(proposalOf(call)))
    const due = reads.length > 0 ? reads : isConfirmed ? calls : []
    for (const call of due) open.set(keyOf(call.tool.name, call.input), call)
    if (due.length > 0) return undefined
    proposed.push(...calls)
    if (calls.length > 0) return sure('')
    if (answer?.isSure) return answer
    fallback ??= answer
  }
  return fallback
}

function answerWith(text: string): NextStep {
  return { text, reasoning: '', calls: [] }
}

function reasonFor({ tool, evidence = [] }: Call): string {
  const words = [...new Set(evidence)].slice(0, 5).map((word) => `'${word}'`)
  return `${tool.name} fits ${words.join(', ') || 'best'}.`
}

/** Joins the answers of all parts, then results that no part asked for: a run may continue with other tools. */
function joinAnswers(answers: readonly PartAnswer[], { conversation: { done, tools }, used, proposed }: Progress): string {
  const texts = answers.flatMap(({ answer }) => answer?.text || [])
  const isOffered = ({ result: { name } }: CompletedCall) =>
    name !== findToolsName && (texts.length === 0 || tools.some((tool) => tool.name === name))
  const rest = done.filter((call) => !used.has(call) && isOffered(call))
  const all = [...texts, ...rest.map((call, at) => describeResult(answers[at]?.text ?? '', call.input, call.result))]
  if (all.length + proposed.length === 0) return ''
  const open = rest.length > 0 ? [] : answers.filter(({ answer, text }) => answer === undefined && /\?|\d/.test(text))
  return [...new Set([...all, ...open.map(({ text }) => `I could not answer the part “${text}”.`), ...propose(proposed)])].join('\n\n')
}

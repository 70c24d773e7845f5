import type { JsonObject, Message, ToolMessage } from '../../agent/messages.ts'
import type { ModelRequest, RequestedCall, ToolOffer } from '../../agent/model.ts'
import { findToolsName } from '../../agent/tool-offer.ts'
import { splitKnown } from '../../memory/render.ts'
import { answerFromTexts, answerFromStatements, asksForAll } from './answers/given.ts'
import { describeResult } from './answers/answer.ts'
import { memoriesHeading, describeMemories, toSecondPerson } from './answers/remembered.ts'
import { abilitiesText, greetingText, inabilityText } from './answers/about.ts'
import { chooseChart } from './chart.ts'
import { separateAttachedFiles, toReadCall } from './attached.ts'
import { toPlan, type PlannedPart } from './plan.ts'
import { readNamedCall } from './named-call.ts'
import { isFollowUp, readMessage, smallTalk, splitParts, toSections, type Section } from './question.ts'

/** The next step of the model: tool calls or an answer. */
export interface NextStep {
  reasoning: string
  text: string
  calls: RequestedCall[]
}

/** A tool call of this run with its result. */
interface CompletedCall {
  key: string
  input: JsonObject
  result: ToolMessage
}

/** Limit of calls in a run, so that every run ends. */
const maxCalls = 24
/** Number of earlier questions used to resolve a follow-up. */
const maxEarlier = 6

/** The embedded model creates no sub-agents: it answers itself, or uses an existing sub-agent. */
const ignored: ReadonlySet<string> = new Set(['create_sub_agent', 'end_sub_agent'])

/** The embedded model makes no plans: it handles all parts of a question in a single step. */
const noPlan = '[]'

/** Decides from the request alone. Parts of the question without a result are sent to tools, then all parts are answered. */
export function respond(name: string, request: ModelRequest): NextStep {
  const { system } = request
  const tools = request.tools.filter((tool) => !ignored.has(tool.name))
  const { messages: all, attached } = separateAttachedFiles(request.messages)
  const instruction = all.findLast((message) => message.role === 'user')?.instruction
  if (instruction === 'plan' || instruction === 'change') return answerWith(noPlan)
  // Planning instructions are ignored in favour of the question of the person. A step planned by another model counts as a question.
  const messages =
    instruction === 'step' ? all : all.filter((message) => !(message.role === 'user' && message.instruction) && !isPlan(message))
  const lastUser = messages.findLastIndex((message) => message.role === 'user')
  const { text: question, known: earlier } = splitKnown(messages[lastUser]?.text ?? '')
  const namedCall = readNamedCall(question, tools)
  const isFound = (call: CompletedCall) => call.result.name === findToolsName && namedCall?.tool.name !== findToolsName
  const done = doneCalls(messages, lastUser).filter((call) => !isFound(call))
  const talk = done.length === 0 ? smallTalk(question) : undefined
  if (talk) return answerWith(talk === 'capabilities' ? abilitiesText(name, tools) : greetingText(talk, tools))
  const memoriesAnswer = done.length === 0 ? describeMemories(question, earlier) : undefined
  if (memoriesAnswer !== undefined) return answerWith(memoriesAnswer)
  const { parts, sections } = namedCall ? { parts: [question], sections: [] } : readMessage(question)
  const texts = [...sections, ...sectionsBefore(messages, lastUser), ...attached.sections]
  const memories = earlier.map((text) => ({ heading: memoriesHeading, text: toSecondPerson(text) }))
  const sources = { texts, statements: [...statementsBefore(system, messages, lastUser), ...memories] }
  // The search for tools is used only for a tool named in the question, because matching tools are offered already.
  const ordinary = tools.filter((tool) => tool.name !== findToolsName)
  const plan = namedCall
    ? [{ part: question, request: question, choice: namedCall, waits: false }]
    : toPlan({
        parts,
        tools: ordinary,
        earlier: earlierQuestions(messages, lastUser),
        figureOf: (planned) => figureIn(resultOf(planned, done)?.result),
      })
  const reading = toReadCall(attached, tools)
  for (const planned of plan) {
    if (namedCall) continue
    if (answerFrom(planned, sources) !== undefined) delete planned.choice
    else if (reading && ((planned.choice?.score ?? 0) < 8 || asksForAll(planned.request))) planned.choice = reading
  }
  plan.push(...chartsOf(plan, tools, done))
  const open = plan.filter((planned) => planned.choice && !resultOf(planned, done))
  if (open.length > 0 && done.length < maxCalls) return { text: '', reasoning: reasonFor(open), calls: uniqueCalls(open) }
  return answerWith(answer(plan, done, (planned) => answerFrom(planned, sources)) ?? inabilityText(name, question, tools))
}

/** Charts of query results. A chart is requested once its figures are available. */
function chartsOf(plan: readonly PlannedPart[], tools: readonly ToolOffer[], done: readonly CompletedCall[]): PlannedPart[] {
  return plan.flatMap((planned) => {
    const figures = planned.choice && 'sql' in planned.choice.input ? resultOf(planned, done) : undefined
    const choice = figures && chooseChart(planned.part, tools, figures.result)
    return choice ? [{ part: planned.part, request: planned.request, choice, waits: false }] : []
  })
}

function isPlan(message: Message): boolean {
  return message.role === 'assistant' && message.text === noPlan
}

function answerWith(text: string): NextStep {
  return { text, reasoning: '', calls: [] }
}

function keyOf(name: string, input: JsonObject): string {
  return `${name} ${JSON.stringify(input)}`
}

function doneCalls(messages: readonly Message[], start: number): CompletedCall[] {
  const run = messages.slice(start + 1)
  const results = new Map(run.flatMap((message) => (message.role === 'tool' ? [[message.callId, message] as const] : [])))
  return run.flatMap((message) => {
    if (message.role !== 'assistant') return []
    return message.toolCalls.flatMap((call) => {
      const result = results.get(call.id)
      const input = parseInput(call.arguments)
      return result ? [{ key: keyOf(call.name, input), input, result }] : []
    })
  })
}

function parseInput(text: string): JsonObject {
  try {
    return JSON.parse(text) as JsonObject
  } catch {
    return {}
  }
}

function resultOf({ choice }: PlannedPart, done: readonly CompletedCall[]): CompletedCall | undefined {
  return choice && done.find((call) => call.key === keyOf(choice.tool.name, choice.input))
}

/** The single figure of a result, as digits. */
function figureIn(result: ToolMessage | undefined): string | undefined {
  if (!result || result.isError) return undefined
  const output = parseInput(result.text) as { result?: unknown; rows?: unknown[][] }
  const single = output.rows?.length === 1 && output.rows[0]?.length === 1 ? output.rows[0][0] : output.result
  return /^-?\d+(\.\d+)?/.exec(String(single ?? ''))?.[0]
}

function reasonFor(open: readonly PlannedPart[]): string {
  const reasons = open.map(({ choice }) => {
    const words = [...new Set(choice!.evidence)].slice(0, 5).map((word) => `'${word}'`)
    return words.length > 0 ? `${choice!.tool.name} fits ${words.join(', ')}.` : `${choice!.tool.name} fits best.`
  })
  return [...new Set(reasons)].join(' ')
}

function uniqueCalls(open: readonly PlannedPart[]): RequestedCall[] {
  const calls = new Map(open.map(({ choice }) => [keyOf(choice!.tool.name, choice!.input), choice!] as const))
  return [...calls.values()].map(({ tool, input }) => ({ name: tool.name, arguments: JSON.stringify(input) }))
}

/** Joins the answers of all parts, then results without a part: a run may continue with different tools. */
function answer(
  plan: readonly PlannedPart[],
  done: readonly CompletedCall[],
  answerFromSources: (planned: PlannedPart) => string | undefined,
): string | undefined {
  const described = new Set<CompletedCall>()
  const texts = plan.map((planned) => {
    const completed = resultOf(planned, done)
    if (completed) {
      described.add(completed)
      return describeResult(planned.request, completed.input, completed.result)
    }
    return answerFromSources(planned)
  })
  const rest = done.filter(
    (call) => !described.has(call) && !done.some((otherCall) => described.has(otherCall) && otherCall.key === call.key),
  )
  const answered = texts.filter((text) => text !== undefined)
  const all = [...answered, ...rest.map((call, at) => describeResult(plan[at]?.part ?? '', call.input, call.result))]
  if (all.length === 0) return undefined
  const open = rest.length > 0 ? [] : plan.filter((planned, at) => texts[at] === undefined && /\?|\d/.test(planned.part))
  return [...new Set(all), ...open.map(({ part }) => `I found no tool for “${part.replace(/(?<![?!.])[?!.]+$/, '')}”.`)].join('\n\n')
}

interface AnswerSources {
  texts: Section[]
  statements: Section[]
}

/** Answers from the conversation itself, unless a tool fits clearly better. */
function answerFrom({ part, choice, request }: PlannedPart, { texts, statements }: AnswerSources): string | undefined {
  const fromTexts = (choice?.score ?? 0) < 8 ? answerFromTexts(request, texts) : undefined
  return fromTexts ?? ((choice?.score ?? 0) < 4 ? answerFromStatements(part, statements) : undefined)
}

/** Sections of the user messages directly before the question, without an answer between. */
function sectionsBefore(messages: readonly Message[], lastUser: number): Section[] {
  let start = lastUser
  while (start > 0 && messages[start - 1]!.role === 'user') start--
  return messages.slice(start, lastUser).flatMap((message) => toSections(message.text))
}

/** Statements of the person, and sections with a heading in the system prompt (memories, for instance). */
function statementsBefore(system: string, messages: readonly Message[], lastUser: number): Section[] {
  const statements = messages
    .slice(0, lastUser)
    .flatMap((message) =>
      message.role === 'user' && message.text.length <= 2_000 && !message.text.includes('?') ? [{ heading: '', text: message.text }] : [],
    )
  return [...statements, ...toSections(system).filter((section) => section.heading !== '')]
}

/** Earlier questions that a follow-up may refer to, starting at the last self-contained question. */
function earlierQuestions(messages: readonly Message[], lastUser: number): string[] {
  const earlier: string[] = []
  for (let at = lastUser - 1; at >= 0 && earlier.length < maxEarlier; at--) {
    const message = messages[at]!
    if (message.role !== 'user' || smallTalk(message.text)) continue
    const parts = splitParts(message.text.slice(0, 2_000))
    earlier.unshift(...parts)
    if (parts[0] !== undefined && !isFollowUp(parts[0])) break
  }
  return earlier
}

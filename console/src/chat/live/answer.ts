import type { Chunk, Schema, StepProgress } from '../../api/client.ts'

type Step = Schema<'IntermediateStep'>
export type Artifact = Schema<'GeneratedArtifact'>

/** A part of an answer; parts are in order of arrival. An unchanged part keeps its identity. */
export type Part = TextPart | ThoughtPart | StepPart | MessagePart

export interface TextPart {
  type: 'text'
  text: string
}

export interface ThoughtPart {
  type: 'thought'
  kind: 'reasoning' | 'planning'
  text: string
}

export interface StepPart {
  type: 'step'
  /** Name of the tool, or of the sub-agent. */
  name: string
  isSubAgent: boolean
  /** Absent while the step runs. */
  step?: Step
  /** How far the running step is, as a line. */
  progress?: string
  /** Steps of the sub-agent. */
  inner: StepPart[]
}

/** A message of a person that has reached the run. */
export interface MessagePart {
  type: 'message'
  id: string
  text: string
}

export interface Source {
  url: string
  title: string
}

/** The web pages among the citations of an answer. Addresses of other schemes are left out: a link could run code. */
export function toSources(context: readonly Schema<'AdditionalContext'>[] = []): Source[] {
  const items = context.filter(({ context_type: kind }) => kind === 'citations').flatMap((citations) => citations.items)
  const titles = new Map(items.flatMap(({ url = '', title }) => (/^https?:\/\//i.test(url) ? [[url, title || url] as const] : [])))
  return [...titles].map(([url, title]) => ({ url, title }))
}

/** An answer as far as its chunks have come. */
export interface Answer {
  parts: readonly Part[]
  status: 'running' | 'waiting' | 'ended'
  /** `null` while the run goes on. */
  finishReason: string | null
  usage: Schema<'Usage'>[]
  artifacts: Artifact[]
  /** Web pages that the answer rests on, each once. */
  sources: Source[]
  /** Calls that wait for approval. */
  approval?: Schema<'ApprovalRequired'> | undefined
  /** The budget that the run waits for. */
  budget?: Schema<'BudgetRequired'> | undefined
  error?: Schema<'Error'> | undefined
}

export const emptyAnswer: Answer = { parts: [], status: 'running', finishReason: null, usage: [], artifacts: [], sources: [] }

/** Adds chunks that came in one frame. */
export function addChunks(answer: Answer, chunks: readonly Chunk[]): Answer {
  if (chunks.length === 0) return answer
  const parts = [...answer.parts]
  let next: Answer = { ...answer, parts }
  for (const chunk of chunks) {
    addToParts(parts, chunk)
    next = { ...next, ...stateAfter(chunk) }
  }
  return next
}

/** Shows progress in the first running step of its tool. */
export function addProgress(answer: Answer, { agent_step: label, progress, total, message }: StepProgress): Answer {
  const index = answer.parts.findIndex(
    (part) => part.type === 'step' && !part.step && part.name === nameOf(label) && part.isSubAgent === isSubAgent(label),
  )
  const part = answer.parts[index]
  if (part?.type !== 'step') return answer
  const line = `${progress}${total === undefined ? '' : ` of ${total}`}${message ? `: ${message}` : ''}`
  return { ...answer, parts: answer.parts.with(index, { ...part, progress: line }) }
}

function addToParts(parts: Part[], { agent_step: label, token, step, user_message: message }: Chunk): void {
  if (label === 'retrying') return dropUnfinished(parts)
  if (message) return void parts.push({ type: 'message', id: message.message_id, text: message.message })
  if (label === 'answer') return token === '' ? undefined : addText(parts, token)
  if (label === 'reasoning' || label === 'planning') return token === '' ? undefined : addThought(parts, label, token)
  if (step) endStep(parts, label, step)
  else parts.push({ type: 'step', name: nameOf(label), isSubAgent: isSubAgent(label), inner: [] })
}

function addText(parts: Part[], token: string): void {
  const last = parts.at(-1)
  if (last?.type === 'text') parts[parts.length - 1] = { type: 'text', text: last.text + token }
  else {
    // After a call of the provider, the answer begins with the text before the call once more.
    const earlier = parts.findLastIndex((part) => part.type === 'text')
    const isBehind = earlier > parts.findLastIndex((part) => part.type === 'message')
    const isRepeated = earlier !== -1 && isBehind && (parts[earlier] as TextPart).text === token
    if (isRepeated) parts.splice(earlier, 1)
    parts.push({ type: 'text', text: token })
  }
}

function addThought(parts: Part[], kind: ThoughtPart['kind'], token: string): void {
  const last = parts.at(-1)
  if (last?.type === 'thought' && last.kind === kind) parts[parts.length - 1] = { ...last, text: last.text + token }
  else parts.push({ type: 'thought', kind, text: token })
}

/** The model's stream broke: the text since the last finished step, or the last message of a person, arrives again. */
function dropUnfinished(parts: Part[]): void {
  parts.length = parts.findLastIndex((part) => part.type === 'step' || part.type === 'message') + 1
}

function endStep(parts: Part[], label: string, step: Step): void {
  const isOpen = (part: Part): part is StepPart => part.type === 'step' && part.step === undefined
  const name = nameOf(label)
  const index = parts.findIndex((part) => isOpen(part) && part.name === name && part.isSubAgent === isSubAgent(label))
  const opened = index === -1 ? undefined : (parts[index] as StepPart)
  const ended: StepPart = { type: 'step', name, isSubAgent: isSubAgent(label), inner: opened?.inner ?? [], step }
  const parent =
    step.sub_agent === undefined ? -1 : parts.findLastIndex((part) => isOpen(part) && part.isSubAgent && part.name === step.sub_agent)
  if (parent === -1) {
    if (index === -1) parts.push(ended)
    else parts[index] = ended
    return
  }
  const agent = parts[parent] as StepPart
  parts[parent] = { ...agent, inner: [...agent.inner, ended] }
  if (index !== -1) parts.splice(index, 1)
}

function stateAfter(chunk: Chunk): Partial<Answer> {
  const { finish_reason: reason, approval_required: approval, budget_required: budget, error, usage } = chunk
  if (reason === 'null') return { status: 'running', finishReason: null, approval: undefined, budget: undefined, error: undefined }
  if (reason === 'approval_required') return { status: 'waiting', finishReason: null, approval, budget, usage }
  const { generated_artifacts: artifacts = [], additional_context: context } = chunk
  return {
    status: 'ended',
    finishReason: reason,
    approval: undefined,
    budget: undefined,
    error,
    usage,
    artifacts,
    sources: toSources(context),
  }
}

function isSubAgent(label: string): boolean {
  return label.startsWith('sub_agent:')
}

function nameOf(label: string): string {
  return label.replace(/^(?:tool|sub_agent):/, '')
}

/** The text of the answer: the text behind the last other part. */
export function outputOf({ parts }: Answer): string {
  const last = parts.at(-1)
  return last?.type === 'text' ? last.text : ''
}

/** Parts of a stored answer, from steps and text. */
export function toParts(steps: readonly Step[], text: string): Part[] {
  const parts: Part[] = []
  for (const step of steps) {
    if (step.type === 'reasoning' || step.type === 'planning') {
      parts.push({ type: 'thought', kind: step.type, text: typeof step.output === 'string' ? step.output : step.log })
      continue
    }
    const ended: StepPart = { type: 'step', name: nameOf(step.tool), isSubAgent: step.type === 'sub_agent_call', inner: [], step }
    parts.push(ended)
  }
  const nested = nest(parts)
  return text === '' ? nested : [...nested, { type: 'text', text }]
}

/** Moves the steps of sub-agents into the call of the sub-agent: the last running call at the start of the step. */
function nest(parts: readonly Part[]): Part[] {
  const top: Part[] = []
  for (const part of parts) {
    const name = part.type === 'step' ? part.step?.sub_agent : undefined
    const parent =
      name === undefined
        ? undefined
        : top.findLast((call): call is StepPart => call.type === 'step' && call.isSubAgent && call.name === name)
    if (parent && part.type === 'step') parent.inner.push(part)
    else top.push(part)
  }
  return top
}

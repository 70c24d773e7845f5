import type { AnswerStep } from '../../sessions/message.ts'
import type { Terminal } from '../terminal.ts'
import { createMarkdownStream, paint, withoutControls } from './markdown-stream.ts'
import type { Chunk } from './service-client.ts'

/** Displays an answer chunk by chunk. */
interface AnswerView {
  show(chunk: Chunk): void
  /** Completes the display after the last chunk, or after a failure. */
  end(): void
}

type ViewOutput = Pick<Terminal, 'stdout' | 'stderr' | 'environment'>

/** A terminal gets everything at once as chunks arrive. A pipe gets the complete answer on standard output and the steps on standard error. */
export function createAnswerView(out: ViewOutput): AnswerView {
  return out.stdout.isTTY ? createTerminalView(out) : createPlainView(out)
}

/** Text followed by a chunk of another `agent_step` was no answer, so a pipe does not get the text. */
function createPlainView({ stdout, stderr }: ViewOutput): AnswerView {
  let answer = ''
  return {
    show({ agent_step, token, step }) {
      answer = agent_step === 'answer' ? answer + token : ''
      if (step) stderr.write(`${describeStep(step, 200)}\n`)
    },
    end() {
      if (answer !== '') stdout.write(answer.endsWith('\n') ? answer : `${answer}\n`)
    },
  }
}

const clearLine = '\r\u001B[K'

function createTerminalView({ stdout, environment }: ViewOutput): AnswerView {
  const isColoured = !environment['NO_COLOR']
  const dim = (text: string) => (isColoured ? paint('dim', text) : text)
  /** Kind of the last output. The line of a running step is replaced by its result if no other output came between. */
  let lastOutput: 'line start' | 'answer' | 'plan' | 'thought' | 'step' = 'line start'
  let markdown = createMarkdownStream()
  let isMidLine = false

  function write(text: string): void {
    if (text === '') return
    stdout.write(text)
    isMidLine = !text.endsWith('\n')
  }

  function goTo(next: typeof lastOutput): void {
    if (lastOutput === next) return
    if (lastOutput === 'answer' && isColoured) write(markdown.end())
    if (isMidLine) write('\n')
    markdown = createMarkdownStream()
    lastOutput = next
  }

  function showStep(name: string, step: AnswerStep | undefined): void {
    if (step && lastOutput === 'step') stdout.write(clearLine)
    else goTo('line start')
    if (!step) {
      write(dim(`· ${withoutControls(name)}`))
      lastOutput = 'step'
      return
    }
    const line = describeStep(step, stdout.columns || 100)
    write(`${step.status === 'error' && isColoured ? paint('red', line) : dim(line)}\n`)
    lastOutput = 'line start'
  }

  function show({ agent_step, token: raw, step }: Chunk): void {
    const token = withoutControls(raw)
    const name = /^(?:tool|sub_agent):(.*)$/s.exec(agent_step)?.[1]
    if (name !== undefined && token === '') return showStep(name, step)
    if (agent_step === 'retrying') {
      goTo('line start')
      return write(dim('↻ the model is called again; the answer starts over\n'))
    }
    if (token === '') return
    goTo(agent_step === 'answer' ? 'answer' : agent_step === 'planning' ? 'plan' : 'thought')
    if (agent_step !== 'answer') write(dim(token))
    else write(isColoured ? markdown.push(token) : token)
  }

  return { show, end: () => goTo('line start') }
}

/** Formats a step as `✓ sales {"sql":"..."} 0.03 s`, or with the reason of its failure. A plan shows its steps. The line is cut to `width`. */
function describeStep({ tool, type, tool_input, log, status, output, execution_time }: AnswerStep, width: number): string {
  const isFailed = status === 'error'
  const result = isFailed ? toReason(output) : `${execution_time.toFixed(2)} s`
  const input = type === 'planning' ? log : (JSON.stringify(tool_input) ?? '')
  const room = Math.max(20, width - tool.length - Math.min(result.length, width / 2) - 5)
  const visibleInput = input.length > room ? `${input.slice(0, room - 1)}…` : input
  return withoutControls(`${isFailed ? '✗' : '✓'} ${tool} ${visibleInput} ${result}`.replace(/\s+/g, ' '))
}

function toReason(output: unknown): string {
  const error = typeof output === 'object' && output !== null ? (output as { error?: unknown }).error : output
  return typeof error === 'string' ? error : (JSON.stringify(output) ?? 'failed')
}

import { createInterface } from 'node:readline'
import type { Terminal } from '../terminal.ts'
import type { Conversation } from './conversation.ts'
import { paint } from './markdown-stream.ts'
import { Writable } from 'node:stream'
import type { Person } from './approvals.ts'

/** Answers lines from a file or a pipe in order; false if an answer failed. */
export async function answerLines({ stdin, stopping }: Terminal, conversation: Conversation): Promise<boolean> {
  const reader = createInterface({ input: stdin, crlfDelay: Number.POSITIVE_INFINITY })
  let isWell = true
  for await (const line of reader) {
    if (stopping.aborted) return false
    const outcome = await conversation.say(line)
    if (outcome === 'quit') break
    isWell &&= outcome === 'done'
  }
  return isWell
}

/** Prompts until `/quit`, Ctrl-D, or Ctrl-C at the prompt. Ctrl-C during an answer cancels the answer. */
export async function converse(terminal: Terminal, conversation: Conversation): Promise<void> {
  const { stdout, stopping, environment } = terminal
  const prompt = environment['NO_COLOR'] ? '> ' : `${paint('green', '>')} `
  const reader = openLineReader(terminal, () => conversation.cancel())
  try {
    for (;;) {
      const line = await reader.line(prompt)
      if (line === undefined) break
      const outcome = await conversation.say(line, reader)
      if (outcome === 'quit' || stopping.aborted) break
    }
  } finally {
    reader.close()
    stdout.write('\n')
  }
}

/** Asks one question. A person at the terminal may be asked for approval. */
export async function askOnce(terminal: Terminal, conversation: Conversation, message: string): Promise<'done' | 'failed'> {
  if (!terminal.stdin.isTTY) return conversation.ask(message)
  const reader = openLineReader(terminal, () => conversation.cancel())
  try {
    return await conversation.ask(message, reader)
  } finally {
    reader.close()
  }
}

/** Reads lines typed at a terminal. */
interface LineReader extends Person {
  /** The next line, including lines typed earlier; undefined at the end of input. */
  line(prompt: string): Promise<string | undefined>
  close(): void
}

/** `onInterrupt` is called on Ctrl-C; false means nothing was cancelled, and the reader closes. */
function openLineReader({ stdin, stdout, stopping }: Terminal, onInterrupt: () => boolean): LineReader {
  let isMuted = true
  // Keys typed without a prompt are buffered for the next prompt. Their echo is muted, or they would appear inside an answer.
  const echo = Object.assign(
    new Writable({
      write(text: Buffer, _, done) {
        if (!isMuted) stdout.write(text)
        done()
      },
    }),
    { columns: stdout.columns || 80, isTTY: true },
  )
  const reader = createInterface({ input: stdin, output: echo, terminal: true })
  const typed: string[] = []
  let isClosed = false
  let take: ((line: string | undefined) => void) | undefined

  reader.on('line', (line) => {
    const resolve = take
    // A second line of the same chunk arrives before the caller has read the first, so `typed` buffers the second.
    take = undefined
    if (resolve) resolve(line)
    else typed.push(line)
  })
  reader.on('close', () => {
    isClosed = true
    take?.(undefined)
  })
  const close = () => reader.close()
  reader.on('SIGINT', () => onInterrupt() || close())
  stopping.addEventListener('abort', close, { once: true })

  async function ask(prompt: string, signal?: AbortSignal): Promise<string | undefined> {
    if (isClosed || signal?.aborted) return undefined
    const { promise, resolve } = Promise.withResolvers<string | undefined>()
    const leave = () => resolve(undefined)
    take = resolve
    signal?.addEventListener('abort', leave, { once: true })
    isMuted = false
    reader.setPrompt(prompt)
    reader.prompt(true)
    const line = await promise
    take = undefined
    isMuted = true
    signal?.removeEventListener('abort', leave)
    return line
  }

  return {
    async line(prompt) {
      const earlierLine = typed.shift()
      if (earlierLine === undefined) return ask(prompt)
      stdout.write(`${prompt}${earlierLine}\n`)
      return earlierLine
    },
    /** Text typed before the question is no reply to the question: the text is restored afterwards. */
    async answer(question, signal, text = '') {
      const draft = reader.line
      reader.write(null, { ctrl: true, name: 'e' })
      reader.write(null, { ctrl: true, name: 'u' })
      if (text !== '') reader.write(text)
      const line = await ask(question, signal)
      if (line === undefined && !isClosed) stdout.write('\n')
      if (!isClosed) {
        reader.write(null, { ctrl: true, name: 'e' })
        reader.write(null, { ctrl: true, name: 'u' })
        reader.write(draft)
      }
      return line
    },
    close() {
      stopping.removeEventListener('abort', close)
      close()
    },
  }
}

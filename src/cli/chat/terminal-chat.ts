import { createInterface } from 'node:readline'
import { Writable } from 'node:stream'
import type { Terminal } from '../terminal.ts'
import type { Conversation } from './conversation.ts'
import { paint } from './markdown-stream.ts'

/** Answers lines from a file or a pipe, in order. False where one of them failed. */
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

/** A prompt until `/quit`, Ctrl-D, or Ctrl-C at the prompt; Ctrl-C during an answer cancels the answer. */
export async function converse(terminal: Terminal, conversation: Conversation): Promise<void> {
  const { stdin, stdout, stopping, environment } = terminal
  let isMuted = false
  // What is typed during an answer is kept for the next prompt, but would be shown in the middle of the answer.
  const echo = Object.assign(
    new Writable({
      write(text: Buffer, _, done) {
        if (!isMuted) stdout.write(text)
        done()
      },
    }),
    { columns: stdout.columns || 80, isTTY: true },
  )
  const prompt = environment['NO_COLOR'] ? '> ' : `${paint('green', '>')} `
  const reader = createInterface({ input: stdin, output: echo, prompt, terminal: true })
  const close = () => reader.close()
  reader.on('SIGINT', () => conversation.cancel() || close())
  stopping.addEventListener('abort', close, { once: true })
  const lines = reader[Symbol.asyncIterator]()
  try {
    for (;;) {
      reader.prompt(true)
      const { value, done } = await lines.next()
      if (done) break
      isMuted = true
      const outcome = await conversation.say(value)
      isMuted = false
      if (outcome === 'quit' || stopping.aborted) break
    }
  } finally {
    stopping.removeEventListener('abort', close)
    close()
    stdout.write('\n')
  }
}

import { createInterface } from 'node:readline'
import type { Terminal } from '../terminal.ts'
import type { Conversation } from './conversation.ts'
import { openLineReader } from './line-reader.ts'
import { paint } from './markdown-stream.ts'

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

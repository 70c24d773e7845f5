import type { JsonObject } from '../src/agent/messages.ts'

/** Finds literal content of a message: JSON, code, quotes, addresses and paths. */

/** Limit of the search for the end of a JSON text. */
const maxTries = 50

/** The first valid JSON object in a text. */
export function jsonIn(text: string): JsonObject | undefined {
  const start = text.indexOf('{')
  let end = text.lastIndexOf('}')
  for (let tries = 0; start >= 0 && end > start && tries < maxTries; tries++) {
    try {
      return JSON.parse(text.slice(start, end + 1)) as JsonObject
    } catch {
      end = text.lastIndexOf('}', end - 1)
    }
  }
  return undefined
}

export interface CodeBlock {
  /** The text after the opening fence. */
  language: string
  code: string
  /** Start position. */
  at: number
}

/** The first fenced code block, or else the first text between single backticks that is more than a name. */
export function codeIn(text: string): CodeBlock | undefined {
  const at = text.indexOf('```')
  if (at >= 0) {
    const [whole = ''] = text.slice(at + 3).split('```', 1)
    const [, language = '', code = whole] = /^([\w+-]*)[ \t]*\r?\n([^]*)$/.exec(whole) ?? []
    return { language, code: code.trimEnd(), at }
  }
  const inline = text.matchAll(/`([^`\n]+)`/g).find(([, code = '']) => /\W/.test(code))
  return inline ? { language: '', code: inline[1]!, at: inline.index } : undefined
}

/** The first quoted text. */
export function quotedIn(text: string): string | undefined {
  const [, double, curly, single] = /(?<!\\)"((?:[^"\\]|\\.)*)"|“([^“”]*)”|(?<!\w)'([^']*)'(?!\w)/.exec(text) ?? []
  return double?.replace(/\\(["\\])/g, '$1') ?? curly ?? single
}

export function urlIn(text: string): string | undefined {
  return /https?:\/\/[^\s"'<>`]+[^\s"'<>`.,;:!?)]/.exec(text)?.[0]
}

export function textBehindColon(text: string): string | undefined {
  return /:\s+(\S[^]*)$/.exec(text)?.[1]?.trim()
}

export function isPath(text: string): boolean {
  return !text.includes('@') && (/\.[a-z][a-z0-9]{1,4}$/i.test(text) || text.includes('/'))
}

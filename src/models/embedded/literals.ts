import type { JsonObject } from '../../agent/messages.ts'

/** What stands in a message word for word: JSON, code, quotes, addresses. */

/** More is not looked through for where JSON ends. */
const maxTries = 50

/** The first object that is valid JSON. */
export function jsonIn(text: string): JsonObject | undefined {
  const start = text.indexOf('{')
  if (start < 0) return undefined
  let end = text.lastIndexOf('}')
  for (let tries = 0; end > start && tries < maxTries; tries++) {
    try {
      return JSON.parse(text.slice(start, end + 1)) as JsonObject
    } catch {
      end = text.lastIndexOf('}', end - 1)
    }
  }
  return undefined
}

export interface Code {
  /** What stands behind the fence. */
  language: string
  code: string
  /** Where it begins. */
  at: number
}

/** The first block of code between fences, else the first between single backticks that is more than a name. */
export function codeIn(text: string): Code | undefined {
  const open = text.indexOf('```')
  if (open >= 0) {
    const body = text.slice(open + 3)
    const end = body.indexOf('```')
    const whole = end < 0 ? body : body.slice(0, end)
    const [, language = '', code = whole] = /^([\w+-]*)[ \t]*\r?\n([^]*)$/.exec(whole) ?? []
    return { language, code: code.trimEnd(), at: open }
  }
  const inline = text.matchAll(/`([^`\n]+)`/g).find(([, code = '']) => /\W/.test(code))
  return inline ? { language: '', code: inline[1]!, at: inline.index } : undefined
}

/** The first text in quotes. */
export function quotedIn(text: string): string | undefined {
  const [, double, curly, single] = /(?<!\\)"((?:[^"\\]|\\.)*)"|“([^“”]*)”|(?<!\w)'([^']*)'(?!\w)/.exec(text) ?? []
  return double?.replace(/\\(["\\])/g, '$1') ?? curly ?? single
}

export function urlIn(text: string): string | undefined {
  return /https?:\/\/[^\s"'<>`]+[^\s"'<>`.,;:!?)]/.exec(text)?.[0]
}

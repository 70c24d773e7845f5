import { readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

/** Errors of a module, in words that name the place in its author's files. */

/** Of a load that failed: `mine.ts:12: Expression expected`. `main` is the module's path, `files` what was loaded for it. */
export function describeLoadFault(error: unknown, main: string, files: readonly string[]): string {
  const place = placeOfMissing(error, files) ?? placeOf(error) ?? placeOfSyntax(error, files)
  return `${place ? toText(place, main) : path.basename(main)}: ${messageOf(error, main)}`
}

/** Of a call that failed, or of what nobody waited for: `The disk is full (mine.ts:12)`. */
export function describeFault(error: unknown, main: string): string {
  const place = placeOf(error)
  const message = messageOf(error, main)
  return place ? `${message} (${toText(place, main)})` : message
}

/** The line of a file on which something first stands, from 1. */
export function findLine(file: string, pattern: RegExp): number | undefined {
  try {
    const index = readFileSync(file, 'utf8')
      .split('\n')
      .findIndex((line) => pattern.test(line))
    return index === -1 ? undefined : index + 1
  } catch {
    return undefined
  }
}

interface Place {
  file: string
  line: number
}

const own = path.dirname(import.meta.filename) + path.sep

/** The first line of the stack that is the author's: Node's own, packages' and ours are not what they can mend. */
function placeOf(error: unknown): Place | undefined {
  if (!(error instanceof Error) || typeof error.stack !== 'string') return undefined
  for (const line of error.stack.split('\n')) {
    // A syntax error has `<path>:<line>` alone on its first line, a frame also a column, and brackets where it has a name.
    const [, url, plain, number] = /(?:(file:\/\/[^\s()]+?)|(?:^| |\()(\/[^()]+?)):(\d+)(?::\d+)?\)?$/.exec(line) ?? []
    const file = url === undefined ? plain : toPath(url)
    if (file !== undefined && !file.includes('/node_modules/') && !file.startsWith(own)) return { file, line: Number(number) }
  }
  return undefined
}

/** An import of what is not there: the line is found by what it names. */
function placeOfMissing(error: unknown, files: readonly string[]): Place | undefined {
  if (!(error instanceof Error) || !('code' in error) || error.code !== 'ERR_MODULE_NOT_FOUND') return undefined
  const [, name, importer] = /^Cannot find (?:module|package) '(.+)' imported from (.+)$/.exec(error.message) ?? []
  if (name === undefined || importer === undefined || !files.includes(importer)) return undefined
  const line = findLine(importer, new RegExp(`['"\`][^'"\`]*${RegExp.escape(path.basename(name))}['"\`/]`))
  return line === undefined ? undefined : { file: importer, line }
}

/** Node tells no line for a fault of JavaScript's syntax; what takes the types off TypeScript does. */
function placeOfSyntax(error: unknown, files: readonly string[]): Place | undefined {
  if (!(error instanceof SyntaxError)) return undefined
  for (const file of files.filter((name) => /\.[cm]?js$/.test(name))) {
    try {
      stripTypeScriptTypes(readFileSync(file, 'utf8'), { sourceUrl: file })
    } catch (syntax) {
      const [, line] = (syntax instanceof Error && /:(\d+)\n/.exec(syntax.stack ?? '')) || []
      if (line !== undefined) return { file, line: Number(line) }
    }
  }
  return undefined
}

function toPath(url: string): string | undefined {
  try {
    return fileURLToPath(url)
  } catch {
    return undefined
  }
}

function toText({ file, line }: Place, main: string): string {
  return `${path.relative(path.dirname(main), file)}:${line}`
}

/** With the cause's, which tells why a fetch has failed; where the module's folder is on this machine is nobody else's business. */
function messageOf(error: unknown, main: string): string {
  if (!(error instanceof Error)) return typeof error === 'string' ? error : 'something that is not an Error was thrown'
  const cause = error.cause instanceof Error && error.cause.message ? `: ${error.cause.message}` : ''
  return `${error.message.split('\n', 1)[0] || error.name}${cause}`.replaceAll(path.dirname(main) + path.sep, '')
}

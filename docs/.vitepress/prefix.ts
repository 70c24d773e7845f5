import { readFile, writeFile } from 'node:fs/promises'
import { parseSync, Visitor } from 'oxc-parser'
import type { Plugin } from 'vitepress'

/**
 * Stands for the path prefix under which browsers reach the service, which is not known when the site is built. The service replaces the
 * placeholder in pages; scripts find the prefix in their own address.
 */
export const prefixPlaceholder = '/__prefix__'

/** Makes the scripts of the site independent of the prefix, so that their files are compressed once and served as they are. */
export const prefixPlugin: Plugin = {
  name: 'agent-core:prefix',
  enforce: 'post',
  // Pages are rendered with the placeholder.
  apply: ({ build }, { command }) => command === 'build' && !build?.ssr,
  renderChunk: (code, { fileName }) => ({ code: withRuntimePrefix(code, fileName), map: null }),
}

/** Rewrites one script file. */
export async function rewriteScript(file: string): Promise<void> {
  await writeFile(file, withRuntimePrefix(await readFile(file, 'utf8'), file))
}

/** Replaces the placeholder in every text of a module when the module runs. Throws an error for a placeholder that is not in a text. */
export function withRuntimePrefix(code: string, name: string): string {
  if (!code.includes(prefixPlaceholder)) return code
  const texts = findTexts(code, name).filter(({ start, end }) => code.slice(start, end).includes(prefixPlaceholder))
  let [rewritten, position] = ['', 0]
  for (const { start, end } of texts) {
    rewritten += `${code.slice(position, start)}${inScript(code.slice(start, end))}`
    position = end
  }
  rewritten += code.slice(position)
  return `${prefixDeclaration}\n${rewritten}`
}

/** All scripts are below `<prefix>/docs/assets/`. */
const prefixDeclaration = `const __docsPrefix = (({ pathname }) => pathname.slice(0, pathname.lastIndexOf('/docs/assets/')))(new URL(import.meta.url));`

function inScript(text: string): string {
  return `(${text}).replaceAll(${JSON.stringify(prefixPlaceholder)}, __docsPrefix)`
}

interface Range {
  start: number
  end: number
}

/** Strings and templates of a module, in the order of the code; a text inside a template belongs to the template. */
function findTexts(code: string, name: string): Range[] {
  const { program, errors } = parseSync(name.replace(/[^]*\//, ''), code, { sourceType: 'module' })
  const [fault] = errors
  if (fault) throw new Error(`${name} cannot be read: ${fault.message}`)
  const texts: Range[] = []
  new Visitor({
    Literal: ({ start, end, value }) => {
      if (typeof value === 'string') texts.push({ start, end })
    },
    TemplateLiteral: ({ start, end }) => void texts.push({ start, end }),
  }).visit(program)
  const sorted = texts.toSorted((a, b) => a.start - b.start || b.end - a.end)
  return sorted.filter((text, index) => !sorted.slice(0, index).some(({ end }) => text.start < end))
}

/** What the runner does with a block of a page. */
export type Action = 'run' | 'compare' | 'write' | 'merge' | 'check' | 'parse'

/** Code block of a documentation page, or a hidden setup block. */
export interface Block {
  /** Line of the first line of content, counted from 1. */
  line: number
  /** Language, such as `sh`. Empty where the page names none. */
  language: string
  content: string
  action: Action
  /** Target of `file=` and `merge=`, relative to the folder of the page. */
  file?: string
  /** Reason of `skip`. The block is parsed, and nothing else. */
  skip?: string
  /** True for `fails`: a command of the block must fail. */
  mustFail: boolean
  /** True for `continues`: the TypeScript goes on in the module of the TypeScript block before. */
  isContinued: boolean
  isHidden: boolean
}

const shells = new Set(['sh', 'bash'])
const typed = new Set(['ts', 'typescript'])
const attributes = new Set(['output', 'fails', 'continues', 'file', 'merge', 'skip'])

/** Reads language and info string of a code block. Throws an error that names the fault. */
export function parseInfo(language: string, info: string): Omit<Block, 'line' | 'content' | 'isHidden'> {
  if (language === '') throw new Error('The block names no language. Use "text" for plain text.')
  const values = readAttributes(info)
  const file = values.get('file') ?? values.get('merge')
  const skip = values.get('skip')
  if (skip === '') throw new Error('`skip` needs a reason: skip="...".')
  if ((values.has('file') || values.has('merge')) && !file) throw new Error('`file` and `merge` need a file name: file=agent.yaml.')
  return {
    language: language.replace(/\{.*/, ''),
    action: skip === undefined ? chooseAction(language, values) : 'parse',
    ...(file && { file }),
    ...(skip && { skip }),
    mustFail: values.has('fails'),
    isContinued: values.has('continues'),
  }
}

function chooseAction(language: string, values: Map<string, string>): Action {
  if (values.has('output')) return 'compare'
  if (values.has('merge')) return 'merge'
  if (values.has('file')) return 'write'
  if (shells.has(language)) return 'run'
  return typed.has(language) ? 'check' : 'parse'
}

/** `file=a.yaml fails skip="no cluster" {1,3} [a title]`: titles and highlighted lines belong to the site. */
function readAttributes(info: string): Map<string, string> {
  const values = new Map<string, string>()
  for (const [text, name, quoted, bare] of info.matchAll(/([\w-]+)(?:=(?:"([^"]*)"|(\S*)))?|\{[^}]*\}|\[[^\]]*\]|:[\w=-]+|\S+/g)) {
    if (name === undefined && /^[{[:]/.test(text)) continue
    if (name === undefined || !attributes.has(name)) throw new Error(`"${text}" is not an attribute. Known: ${[...attributes].join(', ')}.`)
    values.set(name, quoted ?? bare ?? '')
  }
  return values
}

export const isTypeScript = ({ language }: Block) => typed.has(language)

import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { isTypeScript, type Block } from './block.ts'
import { checkout, linkPackages } from './folder.ts'
import type { Page } from './page.ts'

/** TypeScript module made of a block and the blocks that continue it. */
interface Module {
  file: string
  text: string
  page: string
  /** Place of each line on the page. */
  lines: number[]
}

const options = {
  target: 'es2024',
  lib: ['es2024', 'dom', 'dom.iterable', 'esnext.disposable'],
  module: 'nodenext',
  moduleDetection: 'force',
  types: ['node'],
  jsx: 'react-jsx',
  noEmit: true,
  strict: true,
  skipLibCheck: true,
  erasableSyntaxOnly: true,
  allowImportingTsExtensions: true,
}

/** Checks the types of all TypeScript blocks in one call of the compiler. Returns faults as `page:line  message`. */
export async function checkTypes(pages: Page[]): Promise<string[]> {
  const folder = await mkdtemp(path.join(tmpdir(), 'agent-core-docs-types-'))
  try {
    const modules = pages.flatMap((page, index) => toModules(page, `pages/${index}`))
    if (modules.length === 0) return []
    await linkPackages(folder)
    await Promise.all(modules.map((module) => writeModule(folder, module)))
    await writeFile(path.join(folder, 'package.json'), '{"type":"module"}')
    const compilerOptions = { ...options, typeRoots: [path.join(checkout, 'node_modules/@types')] }
    await writeFile(path.join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['pages/*/**/*'] }))
    const compiler = path.join(checkout, 'node_modules/.bin/tsc')
    const output = await promisify(execFile)(compiler, ['-p', folder, '--pretty', 'false'], { cwd: folder }).catch(
      (error: { stdout: string }) => error,
    )
    return toFaults(output.stdout, modules)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function writeModule(folder: string, { file, text }: Module): Promise<void> {
  const target = path.join(folder, file)
  await mkdir(path.dirname(target), { recursive: true })
  await writeFile(target, text)
}

/** Blocks with a file name keep the name, so that blocks can import each other. */
function toModules({ name, blocks }: Page, folder: string): Module[] {
  const modules: Module[] = []
  for (const [index, block] of blocks.filter((block) => isTypeScript(block) && !block.skip && block.action !== 'compare').entries()) {
    const file = path.join(folder, block.file ?? `block-${index}.ts`)
    const before = modules.at(-1)
    if (block.isContinued && before) append(before, block)
    else modules.push(append({ file, text: '', page: name, lines: [] }, block))
  }
  // A file that a page writes twice is checked as it is at the end.
  return [...new Map(modules.map((module) => [module.file, module])).values()]
}

function append(module: Module, { content, line }: Block): Module {
  module.text += `${content}\n`
  module.lines.push(...content.split('\n').map((_, index) => line + index))
  return module
}

function toFaults(output: string, modules: Module[]): string[] {
  return output
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [, file = '', row = '', message = ''] = /^(.*?)\((\d+),\d+\): (?:error )?(.*)$/.exec(line) ?? []
      const module = modules.find((candidate) => file.endsWith(candidate.file))
      return module ? `${module.page}:${module.lines[Number(row) - 1] ?? module.lines.at(-1)}  ${message}` : line
    })
}

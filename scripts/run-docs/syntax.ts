import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { parseSync } from 'oxc-parser'
import { parseAllDocuments } from 'yaml'
import type { Block } from './block.ts'
import { parseElidedJson } from './elided-json.ts'

const checks: Record<string, (content: string) => void | Promise<void>> = {
  json: (content) => void parseElidedJson(content),
  yaml: checkYaml,
  yml: checkYaml,
  ts: (content) => checkScript('block.ts', content),
  tsx: (content) => checkScript('block.tsx', content),
  js: (content) => checkScript('block.js', content),
  mjs: (content) => checkScript('block.mjs', content),
  sh: checkShell,
  bash: checkShell,
  python: checkPython,
}

/** Parses a block that is not executed. Throws an error that describes the first fault; languages without a parser are not checked. */
export async function checkSyntax({ language, content }: Block): Promise<void> {
  await checks[language]?.(content)
}

function checkYaml(content: string): void {
  const [fault] = parseAllDocuments(content).flatMap((document) => document.errors)
  if (fault) throw fault
}

function checkScript(file: string, content: string): void {
  const [fault] = parseSync(file, content, { sourceType: 'module' }).errors
  if (fault) throw new Error(fault.codeframe ?? fault.message)
}

async function checkShell(content: string): Promise<void> {
  await promisify(execFile)('bash', ['-n', '-c', content])
}

async function checkPython(content: string): Promise<void> {
  await promisify(execFile)('python3', ['-c', 'import ast, sys; ast.parse(sys.argv[1])', content])
}

import { globSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'

/** Points relative imports in the declarations of a folder to `.js`. The compiler rewrites imports in JavaScript files only. */
export async function rewriteDeclarations(folder: string): Promise<void> {
  const files = globSync('**/*.d.ts', { cwd: folder }).map((name) => path.join(folder, name))
  await Promise.all(files.map(async (file) => writeFile(file, rewriteImports(await readFile(file, 'utf8')))))
}

/** `from './types.ts'` becomes `from './types.js'`; also `import('./types.ts')` and `import './types.ts'`. Imports of declarations stay. */
export function rewriteImports(text: string): string {
  return text.replace(/(\bfrom |\bimport ?\(?)(["'])(\.{1,2}\/[^"'\n]*?)(?<!\.d)\.ts\2/g, '$1$2$3.js$2')
}

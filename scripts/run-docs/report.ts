import type { PageResult } from './run-page.ts'

const maxLines = 40

/** One line for a page, and its faults with what was run, expected and received. */
export function formatPage({ page, run, compared, written, parsed, skipped, faults, seconds }: PageResult): string {
  const counts = [`${run} run`, `${compared} compared`, `${written} written`, `${parsed} parsed`, `${skipped.length} skipped`]
  const line = `${faults.length > 0 ? 'FAIL' : 'ok  '} ${page}  ${counts.join(', ')}  ${seconds.toFixed(1)} s`
  return [line, ...faults.map((fault) => formatFault(page, fault))].join('\n')
}

function formatFault(page: string, { line, message, details }: PageResult['faults'][number]): string {
  const parts = Object.entries(details).filter(([, text]) => text.trim() !== '')
  return [`  ${page}:${line}  ${message}`, ...parts.map(([name, text]) => `    ${name}:\n${indent(text)}`)].join('\n')
}

function indent(text: string): string {
  const lines = text.trimEnd().split('\n')
  const shown = lines.length > maxLines ? [...lines.slice(0, maxLines), `(${lines.length - maxLines} more lines)`] : lines
  return shown.map((line) => `      ${line}`).join('\n')
}

/** Totals, and the blocks that were skipped with their reasons. */
export function formatTotals(results: PageResult[], typeScriptBlocks: number, seconds: number): string {
  const sum = (count: (result: PageResult) => number) => results.reduce((total, result) => total + count(result), 0)
  const skipped = results.flatMap(({ page, skipped }) => skipped.map(({ line, reason }) => `  ${page}:${line}  ${reason}`))
  return [
    `${results.length} pages, ${seconds.toFixed(0)} s: ${sum(({ run }) => run)} blocks run, ${sum(({ compared }) => compared)} outputs compared,`,
    `${sum(({ written }) => written)} files written, ${typeScriptBlocks} TypeScript blocks checked, ${sum(({ parsed }) => parsed)} blocks only parsed,`,
    `${skipped.length} skipped${skipped.length > 0 ? ':' : '.'}`,
    ...skipped,
  ].join('\n')
}

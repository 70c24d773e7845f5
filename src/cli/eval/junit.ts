/** A case of a report in the format of JUnit, which CI systems read. */
export interface JunitCase {
  name: string
  seconds: number
  /** Undefined for a passed case. `error`: the case could not be run. */
  fault?: { kind: 'failure' | 'error'; message: string; text: string } | undefined
}

export interface JunitSuite {
  name: string
  cases: readonly JunitCase[]
}

/** Characters of a name or message, and of a text, in a report. Reports are read into memory. */
const maxLine = 200
const maxText = 4000

export function toJunit(name: string, suites: readonly JunitSuite[]): string {
  const allCases = suites.flatMap(({ cases }) => cases)
  const content = element('testsuites', { name, ...countsOf(allCases) }, suites.map(toSuite))
  return `<?xml version="1.0" encoding="UTF-8"?>\n${content}\n`
}

function toSuite({ name, cases }: JunitSuite): string {
  const names = new Set<string>()
  return element(
    'testsuite',
    { name, ...countsOf(cases) },
    cases.map((testCase, index) => {
      // Readers take cases of one name for one case.
      const unique = names.has(testCase.name) ? `${testCase.name} #${index + 1}` : testCase.name
      names.add(unique)
      return toCase({ ...testCase, name: unique }, name)
    }),
  )
}

function toCase({ name, seconds, fault }: JunitCase, suite: string): string {
  const content = fault ? [element(fault.kind, { message: fault.message }, [escape(fault.text.slice(0, maxText))])] : []
  return element('testcase', { classname: suite, name, time: toTime(seconds) }, content)
}

function countsOf(cases: readonly JunitCase[]) {
  const count = (kind: string) => cases.filter(({ fault }) => fault?.kind === kind).length
  const seconds = cases.reduce((sum, testCase) => sum + testCase.seconds, 0)
  return { tests: cases.length, failures: count('failure'), errors: count('error'), time: toTime(seconds) }
}

function toTime(seconds: number): string {
  return seconds.toFixed(3)
}

function element(name: string, attributes: Record<string, string | number>, content: readonly string[]): string {
  const written = Object.entries(attributes).map(([key, value]) => ` ${key}="${escape(String(value).slice(0, maxLine))}"`)
  return content.length === 0 ? `<${name}${written.join('')}/>` : `<${name}${written.join('')}>${content.join('\n')}</${name}>`
}

/** Text for content and attributes. A character that XML 1.0 does not allow, even as a reference, becomes its escape of JavaScript. */
function escape(text: string): string {
  return text
    .replace(/[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu, (mark) => `\\u{${mark.codePointAt(0)!.toString(16)}}`)
    .replace(/[&<>"'\t\n\r]/g, (mark) => `&#${mark.charCodeAt(0)};`)
}

import { CutText } from './cut-text.tsx'

// oxlint-disable-next-line no-control-regex -- the escape character begins a colour code of terminals
const colourCodes = /\u001b\[[0-9;]{0,20}m/g

/** The log of a tool: preformatted, without the colour codes of terminals. */
export function LogText({ text, label = 'Log' }: { text: string; label?: string }) {
  return <CutText text={text.replace(colourCodes, '')} label={label} fileName="log.txt" />
}

import { Parser } from 'htmlparser2'

/** Browsers stop at 512. The readers descend through elements recursively, and the parsers take time by the square of the depth. */
const maxDepth = 2500

/** Throws for HTML or XML whose elements are nested too deeply, before a tree is built. Elements end where the parser of the tree ends them. */
export function checkDepth(text: string, { isXml }: { isXml: boolean }): void {
  let depth = 0
  const parser = new Parser(
    {
      onopentagname() {
        if (++depth > maxDepth) throw new Error('its elements are nested too deeply')
      },
      onclosetag() {
        depth--
      },
    },
    { xmlMode: isXml },
  )
  parser.end(text)
}

/** The anchor that GitHub gives a heading. The site uses the same ones, so that links to headings work in both places. */
export function toAnchor(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}_ -]/gu, '')
    .replaceAll(' ', '-')
}

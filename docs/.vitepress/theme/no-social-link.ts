/** Takes the place of the links to social networks, whose icons the theme of VitePress would fetch from another host. */
export default () => null

/**
 * Second-level classes and the classification each belongs to (https://dev.vivo.com.cn/documentCenter/doc/359). vivo extends
 * the list, so nothing is refused for standing outside it: it only tells what a category given alone will count as.
 */
export const categories: Readonly<Record<string, 0 | 1>> = {
  IM: 1,
  ACCOUNT: 1,
  TODO: 1,
  DEVICE_REMINDER: 1,
  ORDER: 1,
  SUBSCRIPTION: 1,
  NEWS: 0,
  CONTENT: 0,
  MARKETING: 0,
  SOCIAL: 0,
}

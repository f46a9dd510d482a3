export type Complaint = { path: string; complaint: string }

const PATH = /^((?:audience|setting|message)(?:\.[A-Za-z_]+|\[\d+\])*) (.+?)\.?$/

/** Splits a refusal such as `message.badge must be 5.` into the field and what is wrong with it. */
export function splitComplaint(sentence: string): Complaint | undefined {
  const [, path, complaint] = PATH.exec(sentence) ?? []
  return path === undefined || complaint === undefined ? undefined : { path, complaint }
}

/** The complaints of the API about a field. `$1` and so on are the parts that the pattern found. */
const chinese: readonly (readonly [RegExp, string])[] = [
  [/^must not be blank(?: if click_action is (?:intent|url))?$/, '不能为空'],
  [/^is required(?: if type is image)?$/, '必须填写'],
  [/^must be an integer from (-?\d+) to (-?\d+)$/, '应为 $1 到 $2 之间的整数'],
  [/^must be a 64-bit integer$/, '应为 64 位整数'],
  [/^must be at least (\S+)$/, '不能小于 $1'],
  [/^must be at most (\S+)$/, '不能大于 $1'],
  [/^must have at most (\d+) characters$/, '最多 $1 个字符'],
  [/^must have at most (\d+) bytes$/, '最多 $1 字节'],
  [/^must have at most (\d+) (?:items|entries)(?: in \S+)?$/, '最多 $1 项'],
  [/^must not contain control characters$/, '不能包含控制字符'],
  [/^must be in the future$/, '必须晚于当前时间'],
  [/^must be after show_begin_time$/, '必须晚于发送时间'],
  [/^must end in \.jpg, \.jpeg or \.png if type is image$/, '图片地址必须以 .jpg、.jpeg 或 .png 结尾'],
  [/^cannot be set if type is cmd$/, '透传消息不能设置此项'],
  [/^cannot be url if type is cmd$/, '透传消息不能打开网页'],
  [/^must be an object or the JSON text of one$/, '应为 JSON 对象'],
  [/^must be one of (.+)$/, '只能是 $1 之一'],
  [/^must be a number$/, '应为数字'],
  [/^must be an integer$/, '应为整数'],
  [/^must be a string$/, '应为文本'],
  [/^must be true or false$/, '应为 true 或 false'],
  [/^must be an object$/, '应为对象'],
  [/^must be a list$/, '应为列表'],
  [/^has the wrong shape$/, '格式不正确'],
  [/^must be a picture of less than 1 MB$/, '图片必须小于 1 MB'],
  [/^responds with status (\d+)$/, '该地址返回状态码 $1'],
  [/^did not respond within (\d+) s$/, '该地址在 $1 秒内没有响应'],
  [/^cannot be fetched$/, '无法访问该地址'],
  [/^must be a URL that starts with http:\/\/ or https:\/\/$/, '应为以 http:// 或 https:// 开头的网址'],
  [
    /^must be an https:\/\/ address or a deep link such as myapp:\/\/page$/,
    '应为 https:// 网址，或 myapp://page 形式的深层链接',
  ],
  [
    /^must be an https:\/\/ address or a deep link of the app, not ([\w+.-]+):$/,
    '应为 https:// 网址或应用的深层链接，不能是 $1:',
  ],
  [/^must have a host after https:\/\/$/, 'https:// 之后缺少主机名'],
  [/^must not contain spaces or control characters$/, '不能包含空格或控制字符'],
  [/^must have 1 to 9 digits, with a leading \+ to add$/, '应为 1 到 9 位数字；以 + 开头表示累加'],
  [/^must be a Unix time in seconds$/, '应为以秒为单位的 Unix 时间'],
  [/^cannot be set if click_action is url$/, '已设置点击打开的链接，不能再设置此项'],
  [/^must begin with intent:#Intent;$/, '必须以 intent:#Intent; 开头'],
  [/^must end with ;end$/, '必须以 ;end 结尾'],
  [/^must have component=package\/activity$/, '必须包含 component=包名/Activity 全路径'],
  [/^must have only parts of the form S\.key=value between semicolons$/, '分号之间只能是 S.键=值 的形式'],
  [/^must not contain #Intent;$/, '不能包含 #Intent;'],
  // About credentials and settings.
  [/^is missing\b.*$/, '必须填写'],
  [/^must be a whole number from (-?\d+) to (-?\d+)$/, '应为 $1 到 $2 之间的整数'],
  [/^must be a JSON object(?: with .+)?$/, '应为 JSON 对象'],
  [/^must be a list of non-blank strings$/, '应为非空文本的列表'],
  [/^is not a known field; remove it or use one of (.+)$/, '不是已知字段，可用字段：$1'],
  [/^must be [^:]+, without spaces$/, '不能包含空格或特殊字符'],
  [/^is not valid JSON\b.*$/, '不是有效的 JSON，请粘贴完整的文件内容'],
  [/^must be the JSON object of a service account$/, '应为服务账号的 JSON'],
  [/^must be empty or the complete service-account JSON from .+$/, '应为完整的服务账号 JSON，或留空'],
  [/^is a service-account JSON without (\w+)\b.*$/, '服务账号 JSON 缺少 $1，请粘贴完整的文件内容'],
  [/^is .+, not a service account\b.*$/, '不是服务账号的密钥文件，请在厂商后台重新生成'],
  [/^is not a readable \.p8 key\b.*$/, '不是有效的 .p8 密钥，请粘贴完整的文件内容，包括 BEGIN 和 END 两行'],
  [/^is not a readable \.p12 file\b.*$/, '不是有效的 .p12 文件'],
  [/^is not the passphrase of this \.p12 file$/, '不是该 .p12 文件的密码'],
  [/^is neither a \.p8 key, nor .+$/, '不是 .p8 密钥、PEM 证书与私钥或 .p12 文件'],
  [/^contains no private key\b.*$/, '缺少私钥，请将证书和私钥一起导出为 .p12 或 PEM'],
  [
    /^contains a private key but no X\.509 certificate\b.*$/,
    '缺少证书，请将证书和私钥一起导出为 .p12 或 PEM',
  ],
  [/^contains a private key that .+$/, '其中的私钥无法读取，请检查密码'],
  [/^is not a bundle id\b.*$/, '不是有效的 Bundle ID，只能包含字母、数字、点和连字符'],
  [/^must be 10 capital letters or digits\b.*$/, '应为 10 位大写字母或数字'],
  [/^must be an Android package name such as (.+)$/, '应为安卓包名，例如 $1'],
  [/^must be the numeric \w+ from .+$/, '应为厂商后台中的数字 ID'],
  [/^must be .+ from .+, digits only$/, '应为厂商后台中的 ID，仅含数字'],
  [/^equals extra\.client_app_secret\b.*$/, '与客户端密钥相同，请填写服务端密钥（Master Secret）'],
  [
    /^must be ospush_only, or blank, if message\.ios\.live_activity is set$/,
    '发送实时活动时，只能选择仅厂商通道',
  ],
]

/** A complaint in the reader's language; in English if it is not known. */
export function complaintIn(language: string, complaint: string): string {
  if (language !== 'zh') return complaint
  for (const [pattern, text] of chinese) if (pattern.test(complaint)) return complaint.replace(pattern, text)
  return complaint
}

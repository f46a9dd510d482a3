const PACKAGE_NAME = /^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$/

/** Whether a text can be the package name of an Android or HarmonyOS app, or the bundle ID of an iOS app: `com.example.shop`. */
export const isPackageName = (text: string): boolean => PACKAGE_NAME.test(text)

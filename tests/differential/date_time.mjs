// SPDX-License-Identifier: Apache-2.0
// The format "date-time" of a JSON Schema, as RFC 3339 has it (section 5.6 and appendix C): `t`
// and `z` may be lower case, the date must exist, and a second of 60 stands only where a leap
// second can, which is 23:59:60 UTC at the end of June or December. Written without a look at
// parley's own reading, which it is compared with.

const FORM =
  /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.\d+)?(?:[Zz]|([+-])(\d\d):(\d\d))$/;

const isLeapYear = (year) => (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;

function daysOf(year, month) {
  if (month === 2) return isLeapYear(year) ? 29 : 28;
  return [4, 6, 9, 11].includes(month) ? 30 : 31;
}

function isLeapSecond(year, month, day, hour, minute, offset) {
  const time = new Date(0);
  time.setUTCFullYear(year, month - 1, day);
  time.setUTCHours(hour, minute - offset);
  const atMidnight = time.getUTCHours() === 23 && time.getUTCMinutes() === 59;
  const date = `${time.getUTCMonth() + 1}-${time.getUTCDate()}`;
  return atMidnight && (date === '6-30' || date === '12-31');
}

export function isDateTime(text) {
  const match = FORM.exec(text);
  if (!match) return false;
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map(Number);
  const [hours, minutes] = [Number(match[8] ?? 0), Number(match[9] ?? 0)];
  if (month < 1 || month > 12 || day < 1 || day > daysOf(year, month)) return false;
  if (hour > 23 || minute > 59 || second > 60 || hours > 23 || minutes > 59) return false;
  const offset = (match[7] === '-' ? -1 : 1) * (hours * 60 + minutes);
  return second < 60 || isLeapSecond(year, month, day, hour, minute, offset);
}

/**
 * The language of `Upstash-Retry-Delay`: arithmetic over `retried` that gives milliseconds.
 *
 *   sum     = product (("+" | "-") product)*
 *   product = factor (("*" | "/") factor)*
 *   factor  = "-" factor | number | "retried" | name "(" sum ("," sum)* ")" | "(" sum ")"
 *
 * A parser of its own, because the text comes from a request and must never reach `eval`.
 */
type Evaluate = (retried: number) => number;

const functions: Readonly<Record<string, { arity: number; apply: (...x: number[]) => number }>> = {
  abs: { arity: 1, apply: Math.abs },
  ceil: { arity: 1, apply: Math.ceil },
  exp: { arity: 1, apply: Math.exp },
  floor: { arity: 1, apply: Math.floor },
  max: { arity: 2, apply: Math.max },
  min: { arity: 2, apply: Math.min },
  pow: { arity: 2, apply: Math.pow },
  round: { arity: 1, apply: Math.round },
  sqrt: { arity: 1, apply: Math.sqrt },
};

const maxDelayMs = 86_400_000;
const maxDepth = 100; // A longer nesting would overflow the parser's own stack.

/** Compiles a retry-delay expression; throws a SyntaxError that says what is wrong with it. */
export function compileRetryDelay(expression: string): (retried: number) => number {
  const evaluate = new Parser(expression).parse();
  return (retried) => {
    const delayMs = evaluate(retried);
    // Division by zero and roots of negatives: as soon as possible, or the cap, but never NaN.
    if (Number.isNaN(delayMs)) return 0;
    return Math.round(Math.min(maxDelayMs, Math.max(0, delayMs)));
  };
}

class Parser {
  private readonly tokens: string[];
  private position = 0;
  private depth = 0;

  constructor(expression: string) {
    const tokens = expression.match(/\d+(?:\.\d+)?|[A-Za-z_]+|[-+*/(),]|\S/g);
    if (!tokens) throw new SyntaxError("the expression is empty");
    this.tokens = tokens;
  }

  parse(): Evaluate {
    const result = this.sum();
    const rest = this.tokens[this.position];
    if (rest !== undefined) throw new SyntaxError(`unexpected "${rest}"`);
    return result;
  }

  private sum(): Evaluate {
    if (++this.depth > maxDepth) throw new SyntaxError("the expression is nested too deeply");
    let left = this.product();
    for (let sign = this.takeOneOf("+-"); sign; sign = this.takeOneOf("+-")) {
      const [a, b] = [left, this.product()];
      left = sign === "+" ? (n) => a(n) + b(n) : (n) => a(n) - b(n);
    }
    this.depth -= 1;
    return left;
  }

  private product(): Evaluate {
    let left = this.factor();
    for (let sign = this.takeOneOf("*/"); sign; sign = this.takeOneOf("*/")) {
      const [a, b] = [left, this.factor()];
      left = sign === "*" ? (n) => a(n) * b(n) : (n) => a(n) / b(n);
    }
    return left;
  }

  private factor(): Evaluate {
    let negative = false;
    while (this.takeOneOf("-")) negative = !negative;
    const value = this.primary();
    return negative ? (n) => -value(n) : value;
  }

  private primary(): Evaluate {
    const token = this.tokens[this.position++];
    if (token === undefined) throw new SyntaxError("the expression ends too early");
    if (token === "(") {
      const inner = this.sum();
      this.expect(")");
      return inner;
    }
    if (token === "retried") return (retried) => retried;
    if (/^\d/.test(token)) {
      const value = Number(token);
      return () => value;
    }
    return this.call(token);
  }

  private call(name: string): Evaluate {
    const known = Object.hasOwn(functions, name) ? functions[name] : undefined;
    if (!known) throw new SyntaxError(`unknown name "${name}"`);
    this.expect("(");
    const inputs = [this.sum()];
    while (this.takeOneOf(",")) inputs.push(this.sum());
    this.expect(")");
    if (inputs.length !== known.arity) {
      throw new SyntaxError(`${name} takes ${known.arity} argument${known.arity > 1 ? "s" : ""}`);
    }
    return (retried) => known.apply(...inputs.map((input) => input(retried)));
  }

  private takeOneOf(signs: string): string | undefined {
    const token = this.tokens[this.position];
    if (token === undefined || !signs.includes(token)) return undefined;
    this.position += 1;
    return token;
  }

  private expect(sign: string): void {
    if (!this.takeOneOf(sign)) throw new SyntaxError(`expected "${sign}"`);
  }
}
